/*
 * An escape that is not known keeps its backslash in a character constant.
 * @flags: -q
 */
BEGIN
{
	printf("%x\n", '\q');
	exit(0);
}
