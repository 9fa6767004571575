/*
 * An element may have seven keys.
 * @flags: -q
 */
BEGIN
{
	a[1, "b", (char)3, 4LL, "e", 6, 7] = 1;
	a[1, "b", (char)3, 4LL, "e", 6, 8] = 2;
	printf("%d %d\n", a[1, "b", 3, 4, "e", 6, 7], a[1, "b", 3, 4, "e", 6, 8]);
	exit(0);
}
