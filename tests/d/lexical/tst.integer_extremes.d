/*
 * The largest and smallest 64-bit values can be written.
 * @flags: -q
 */
BEGIN
{
	printf("%d\n", 9223372036854775807);
	printf("%u\n", 18446744073709551615ULL);
	printf("%x\n", 0xffffffffffffffff);
	printf("%d\n", -9223372036854775807 - 1);
	exit(0);
}
