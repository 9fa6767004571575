/*
 * A program cannot set the define option, which is needed before the program is read.
 */
#pragma D option define=A=1
BEGIN
{
	exit(0);
}
