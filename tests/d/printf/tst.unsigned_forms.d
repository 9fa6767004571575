/*
 * %u, %o, %x and %X print their argument as an unsigned number.
 * @flags: -q
 */
BEGIN
{
	printf("%u %o %x %X\n", -1, 8, 255, 255);
	printf("%u %x\n", (char)-1, (short)-1);
	printf("%lu %lx %lo %lX\n", (long)1, (long)255, (long)8, (long)255);
	printf("%llu %llx %hu %hx\n", (long long)1, (long long)255, (short)9, (short)9);
	exit(0);
}
