/*
 * A negative key and a positive key are different keys.
 * @flags: -q
 */
BEGIN
{
	a[-1] = 1;
	a[1] = 2;
	printf("%d %d %d\n", a[-1], a[1], a[0]);
	exit(0);
}
