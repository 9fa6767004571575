/*
 * Integer conversions accept the length modifiers h, l and ll.
 * @flags: -q
 */
BEGIN
{
	printf("%hd %hi %hu %ho %hx %hX\n", (short)-9, (short)-9, (uint16_t)9,
	    (uint16_t)9, (uint16_t)27, (uint16_t)27);
	printf("%ld %li %lu %lo %lx %lX\n", (long)-9, (long)-9, (ulong_t)9, (ulong_t)9,
	    (ulong_t)27, (ulong_t)27);
	printf("%lld %lli %llu %llo %llx %llX\n", (int64_t)-9, (int64_t)-9,
	    (uint64_t)9, (uint64_t)9, (uint64_t)27, (uint64_t)27);
	exit(0);
}
