/*
 * strchr gives the rest from the first such character, NULL when there is none.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s\n", strchr("abcabc", 'b'), strchr("abcabc", 'a'));
	printf("%d [%s]\n", strchr("abc", 'x') == NULL, strchr("abc", '\0'));
	exit(0);
}
