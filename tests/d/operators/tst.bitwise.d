/*
 * & | ^ and ~ operate on bits.
 * @flags: -q
 */
BEGIN
{
	a = 0xc;
	b = 0xa;
	printf("%x %x %x %x\n", a & b, a | b, a ^ b, ~a & 0xff);
	printf("%d\n", ~0);
	exit(0);
}
