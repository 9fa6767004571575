/*
 * A byte that is assigned is within the declared array, as one that is read is.
 */
char a[5];

BEGIN
{
	a[5] = '0';
	exit(0);
}
