/*
 * An unknown escape in a character constant keeps its backslash.
 * @flags: -q
 */
BEGIN
{
	printf("%x\n", '\q');
	exit(0);
}
