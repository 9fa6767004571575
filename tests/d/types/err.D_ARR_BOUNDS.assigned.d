/*
 * A constant index must be within the declared array in an assignment, as in a read.
 */
char a[5];

BEGIN
{
	a[5] = '0';
	exit(0);
}
