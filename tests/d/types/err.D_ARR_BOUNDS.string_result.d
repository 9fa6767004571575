/*
 * A constant index into the string that a subroutine returns is within strsize bytes, which an option sets.
 */
#pragma D option strsize=64

BEGIN
{
	trace(strjoin(execname, "d")[64]);
	exit(0);
}
