/*
 * %d and %i print any integer according to its own size and sign.
 * @flags: -q
 */
BEGIN
{
	printf("%d %i %d %d %d\n", 1, -1, (char)-1, (short)-2, (int64_t)-3);
	printf("%d %d %d\n", (unsigned char)200, (uint32_t)4294967295, (uint64_t)5);
	printf("%ld %lld %hd\n", (long)-5, (long long)6, (short)7);
	exit(0);
}
