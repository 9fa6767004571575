/*
 * A program cannot set cpp, which is needed before the program is read.
 */
#pragma D option cpp
BEGIN
{
	exit(0);
}
