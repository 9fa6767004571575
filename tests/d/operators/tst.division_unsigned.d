/*
 * Division of unsigned values is unsigned.
 * @flags: -q
 */
uint64_t a;
uint64_t b;

BEGIN
{
	a = -2;
	b = 2;
	printf("%u %u\n", a / b, a % 10);
	exit(0);
}
