/*
 * Fixed-width and kernel-style integers are available without any debug data.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", sizeof (int8_t), sizeof (int16_t), sizeof (int32_t),
	    sizeof (int64_t));
	printf("%d %d %d %d\n", sizeof (uint8_t), sizeof (uint16_t),
	    sizeof (uint32_t), sizeof (uint64_t));
	printf("%d %d %d %d\n", sizeof (__u8), sizeof (__u16), sizeof (__u32),
	    sizeof (__u64));
	printf("%d %d %d %d\n", sizeof (uchar_t), sizeof (ushort_t), sizeof (uint_t),
	    sizeof (ulong_t));
	printf("%d %d %d %d\n", sizeof (intptr_t), sizeof (uintptr_t),
	    sizeof (size_t), sizeof (ssize_t));
	printf("%d %d %d %d\n", sizeof (pid_t), sizeof (uid_t), sizeof (id_t),
	    sizeof (hrtime_t));
	printf("%d %d\n", sizeof (longlong_t), sizeof (u_longlong_t));
	printf("%d %d\n", sizeof (bool), sizeof (ipaddr_t));
	printf("%d %d %d\n", sizeof (boolean_t), sizeof (size32_t), sizeof (caddr32_t));
	printf("%d %d\n", sizeof (struct in_addr), sizeof (struct in6_addr));
	exit(0);
}
