/*
 * trace() of a double has the column of an integer of its size.
 * @replace: ^ +\d+ -> CPU
 */
BEGIN
{
	trace(1.25);
	trace(125);
	exit(0);
}
