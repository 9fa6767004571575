/*
 * Operators bind as in C.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", 2 + 3 * 4, (2 + 3) * 4, 20 - 4 - 3);
	printf("%d %d %d\n", 1 << 2 + 1, 1 + 2 << 1, 16 >> 2 >> 1);
	printf("%d %d %d\n", 6 & 3 == 3, 1 | 2 ^ 3 & 2, 7 & 6 ^ 5 | 8);
	printf("%d %d %d\n", 1 || 0 && 0, !0 + 1, ~0 & 5);
	printf("%d %d\n", 5 < 3 == 0, -2 * -3);
	exit(0);
}
