/*
 * lltostr formats a number, which is signed only in base 10. Bases 16 and 8 add their prefixes.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s %s\n", lltostr(0), lltostr(1234), lltostr(-1234));
	printf("%s %s %s\n", lltostr(255, 16), lltostr(8, 8), lltostr(5, 2));
	printf("%s %s\n", lltostr(35, 36), lltostr(0, 16));
	printf("%s\n", lltostr(-1, 16));
	printf("%s\n", lltostr(9223372036854775807));
	exit(0);
}
