/*
 * A length modifier larger than the argument is ignored.
 * @flags: -q
 */
BEGIN
{
	printf("%ld %lld %lu %lx\n", 1, (char)-2, (short)3, 255);
	exit(0);
}
