/*
 * A right shift fills a signed value with its sign bit, and an unsigned value with zeros.
 * @flags: -q
 */
int64_t s;
uint64_t u;

BEGIN
{
	s = -16;
	u = -16;
	n = 2;
	printf("%d %x\n", s >> n, u >> n);
	printf("%d %x\n", s << n, u << n);
	printf("%d %d\n", (char)0x80 >> 3, 1 << 10);
	exit(0);
}
