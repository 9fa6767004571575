/*
 * %Y prints nanoseconds since 1970 as a date, in the time zone of the consumer.
 * @flags: -q
 */
BEGIN
{
	printf("%Y\n", 0);
	printf("%Y\n", 123456789000000000);
	printf("%Y\n", (uint64_t)1795209911 * 1000000000);
	exit(0);
}
