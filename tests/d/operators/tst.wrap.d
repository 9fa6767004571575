/*
 * Sums and products wrap at 64 bits.
 * @flags: -q
 */
int64_t a;

BEGIN
{
	a = 9223372036854775807;
	printf("%d\n", a + 1);
	printf("%d\n", a * 2);
	exit(0);
}
