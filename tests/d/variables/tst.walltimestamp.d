/*
 * walltimestamp is the time since 1970, in nanoseconds.
 * @flags: -q
 */
BEGIN
{
	printf("%d\n", walltimestamp > 1500000000000000000);
	printf("%d\n", walltimestamp == walltimestamp);
	exit(0);
}
