/*
 * strstr returns the rest of the string from the first occurrence of a substring, or NULL.
 * @flags: -q
 */
BEGIN
{
	printf("%s %s %s\n", strstr("foobarbaz", "bar"), strstr("foobarbaz", "ba"),
	    strstr("foobarbaz", "foobarbaz"));
	printf("%d %d\n", strstr("foo", "bar") == NULL, strstr("fo", "foo") == NULL);
	printf("[%s] [%s]\n", strstr("foo", ""), strstr("", ""));
	exit(0);
}
