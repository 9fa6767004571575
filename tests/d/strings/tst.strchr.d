/*
 * strchr returns the rest of the string from the first occurrence of a character, or NULL.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s\n", strchr("abcabc", 'b'), strchr("abcabc", 'a'));
	printf("%d [%s]\n", strchr("abc", 'x') == NULL, strchr("abc", '\0'));
	exit(0);
}
