/*
 * strrchr returns the rest of the string from the last occurrence of a character, or NULL.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s\n", strrchr("abcabc", 'b'), strrchr("abcabc", 'a'));
	printf("%d [%s]\n", strrchr("abc", 'x') == NULL, strrchr("abc", '\0'));
	exit(0);
}
