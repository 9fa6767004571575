/*
 * Pointers may be keys.
 * @flags: -q
 */
int *p;

BEGIN
{
	p = (int *)100;
	a[p] = 1;
	a[p + 1] = 2;
	printf("%d %d\n", a[p], a[(int *)104]);
	exit(0);
}
