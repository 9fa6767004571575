/*
 * strtoll converts the number at the beginning of a string, and ignores the rest.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", strtoll("0"), strtoll("123"), strtoll("-123"));
	printf("%d %d %d\n", strtoll("  42abc"), strtoll("abc"), strtoll(""));
	printf("%d %d %d\n", strtoll("ff", 16), strtoll("0x1F", 16), strtoll("0x1F"));
	printf("%d %d %d\n", strtoll("777", 8), strtoll("1012", 2), strtoll("z", 36));
	printf("%d %d\n", strtoll("+7"), strtoll("9223372036854775807"));
	exit(0);
}
