/*
 * A key is cut to the type of the declaration or of the first use.
 * @flags: -q
 */
BEGIN
{
	a[(char)1] = 7;
	n = 258;
	printf("%d %d\n", a[257], a[n - 1]);
	exit(0);
}
