/*
 * A key of a smaller type is converted to the key type of the array's first use.
 * @flags: -q
 */
BEGIN
{
	a[(int64_t)5] = 7;
	printf("%d %d\n", a[5], a[(char)5]);
	exit(0);
}
