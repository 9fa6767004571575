/*
 * trace() prints doubles and integers of the same size in columns of the same width.
 * @replace: ^ +\d+ -> CPU
 */
BEGIN
{
	trace(1.25);
	trace(125);
	exit(0);
}
