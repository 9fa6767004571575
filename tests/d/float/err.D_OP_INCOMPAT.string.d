/*
 * A string is not compared with a double.
 */
BEGIN
{
	trace(execname == 1.5);
}
