/*
 * The smallest 64-bit value divided by minus one is itself, and the remainder is zero.
 * @flags: -q
 */
int64_t a;
int64_t b;

BEGIN
{
	a = -9223372036854775807 - 1;
	b = -1;
	printf("%d %d\n", a / b, a % b);
	exit(0);
}
