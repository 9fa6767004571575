/*
 * The flag ' groups the digits by thousands.
 * @flags: -q
 */
BEGIN
{
	printf("%'d %'d %'d\n", 1234567, 999, -1000);
	exit(0);
}
