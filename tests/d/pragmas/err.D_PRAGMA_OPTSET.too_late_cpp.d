/*
 * A program cannot set the cpp option, which is needed before the program is read.
 */
#pragma D option cpp
BEGIN
{
	exit(0);
}
