/*
 * An unknown escape in a string keeps its backslash.
 * @flags: -q
 */
BEGIN
{
	printf("%s %d\n", "a\qb", strlen("a\qb"));
	exit(0);
}
