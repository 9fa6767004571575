/*
 * An escape that is not known keeps its backslash in a string.
 * @flags: -q
 */
BEGIN
{
	printf("%s %d\n", "a\qb", strlen("a\qb"));
	exit(0);
}
