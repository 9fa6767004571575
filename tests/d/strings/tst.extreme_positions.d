/*
 * substr, index and rindex accept the largest and smallest positions and lengths, and clamp them.
 * @flags: -q
 */
BEGIN
{
	printf("[%s] [%s]\n", substr("abc", 2147483647), substr("abc", -2147483647));
	printf("[%s] [%s]\n", substr("abc", 0, 2147483647), substr("abc", 1, -2147483647));
	printf("%d %d\n", index("abc", "c", -2147483647), index("abc", "c", 2147483647));
	printf("%d %d\n", rindex("abc", "a", 2147483647), rindex("abc", "a", -2147483647));
	exit(0);
}
