/*
 * Each assignment operator performs its operation and stores the result.
 * @flags: -q
 */
BEGIN
{
	a = 100;
	a += 7; printf("%d ", a);
	a -= 10; printf("%d ", a);
	a *= 2; printf("%d ", a);
	a /= 3; printf("%d ", a);
	a %= 50; printf("%d ", a);
	a <<= 4; printf("%d ", a);
	a >>= 2; printf("%d ", a);
	a &= 0x3c; printf("%d ", a);
	a |= 0x3; printf("%d ", a);
	a ^= 0xff; printf("%d\n", a);
	exit(0);
}
