/*
 * lltostr formats the smallest 64-bit integer.
 * @flags: -q
 */
BEGIN
{
	printf("%s\n", lltostr(-9223372036854775807 - 1));
	exit(0);
}
