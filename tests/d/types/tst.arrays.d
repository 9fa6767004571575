/*
 * The elements of an array of fixed size can be read and written by index.
 * @flags: -q
 */
int a[4];
long total;

BEGIN
{
	a[0] = 1;
	a[1] = 20;
	a[3] = 400;
	total = a[0] + a[1] + a[2] + a[3];
	printf("%d %d\n", total, sizeof (a));
	exit(0);
}
