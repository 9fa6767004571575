/*
 * strstr gives the rest from the first such part, NULL when there is none.
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
