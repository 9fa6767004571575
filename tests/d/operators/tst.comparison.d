/*
 * The value of a comparison is 1 or 0.
 * @flags: -q
 */
BEGIN
{
	a = -1;
	b = 1;
	printf("%d%d%d%d%d%d\n", a < b, a <= b, a > b, a >= b, a == b, a != b);
	printf("%d%d%d%d%d%d\n", b < b, b <= b, b > b, b >= b, b == b, b != b);
	exit(0);
}
