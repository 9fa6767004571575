/*
 * Keys are converted to the key type of the array's first use, but 64-bit keys are not truncated.
 * @flags: -q
 */
BEGIN
{
	a[-1] = 7;
	a[(uint32_t)5] = 8;
	b[0] = 1;
	b[0x100000000] = 2;
	printf("%d %d %d %d\n", a[(uint32_t)-1], a[5], b[0], b[4294967296]);
	exit(0);
}
