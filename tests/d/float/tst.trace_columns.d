/*
 * trace() prints a double in a column as wide as that of an integer of the same size.
 * @replace: ^ +\d+ -> CPU
 */
BEGIN
{
	trace(1.25);
	trace(125);
	exit(0);
}
