/*
 * A program cannot set the libdir option, which is needed before the program is read.
 */
#pragma D option libdir=/tmp
BEGIN
{
	exit(0);
}
