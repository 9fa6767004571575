/*
 * Strings are compared byte by byte, and the bytes are unsigned.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", "abc" < "abd", "abc" < "ab", "" < "a");
	printf("%d %d %d\n", "abc" == "abc", "abc" != "abc", "abc" >= "abc");
	printf("%d %d\n", "a" < "\200", "Z" < "a");
	exit(0);
}
