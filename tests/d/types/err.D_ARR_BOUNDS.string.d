/*
 * A constant index into a variable of type string must be within strsize bytes.
 */
BEGIN
{
	trace(execname[300]);
	exit(0);
}
