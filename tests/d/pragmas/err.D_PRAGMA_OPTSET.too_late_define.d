/*
 * A program cannot set define, which is needed before the program is read.
 */
#pragma D option define=A=1
BEGIN
{
	exit(0);
}
