/*
 * A string has 256 bytes when strsize is not set.
 * @flags: -q
 */
BEGIN
{
	printf("%d\n", sizeof (string));
	exit(0);
}
