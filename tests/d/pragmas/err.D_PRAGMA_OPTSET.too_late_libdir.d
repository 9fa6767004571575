/*
 * A program cannot set libdir, which is needed before the program is read.
 */
#pragma D option libdir=/tmp
BEGIN
{
	exit(0);
}
