/*
 * lltostr writes the smallest number.
 * @flags: -q
 */
BEGIN
{
	printf("%s\n", lltostr(-9223372036854775807 - 1));
	exit(0);
}
