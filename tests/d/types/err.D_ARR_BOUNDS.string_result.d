/*
 * A constant index into the string that a subroutine returns must be less than the strsize option.
 */
#pragma D option strsize=64

BEGIN
{
	trace(strjoin(execname, "d")[64]);
	exit(0);
}
