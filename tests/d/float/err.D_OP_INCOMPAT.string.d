/*
 * A string cannot be compared with a double.
 */
BEGIN
{
	trace(execname == 1.5);
}
