/*
 * Constant expressions have the same values as expressions with variables.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", -17 / 5, -17 % 5, 17 / -5, 17 % -5);
	printf("%d %d\n", 7 - 10, 3 * -4);
	printf("%u\n", 0xffffffffffffffff / 16);
	exit(0);
}
