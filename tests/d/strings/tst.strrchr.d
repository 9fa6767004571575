/*
 * strrchr gives the rest from the last such character, NULL when there is none.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s\n", strrchr("abcabc", 'b'), strrchr("abcabc", 'a'));
	printf("%d [%s]\n", strrchr("abc", 'x') == NULL, strrchr("abc", '\0'));
	exit(0);
}
