/*
 * trace prints integers as signed, in columns whose width depends on the integer's size.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN
{
	trace((char)-1);
	trace((short)-2);
	trace(-3);
	trace((long)-4);
	exit(0);
}
