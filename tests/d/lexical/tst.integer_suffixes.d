/*
 * The suffixes u, l, ul and ull choose the type of an integer constant.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d %d %d\n", sizeof (1), sizeof (1U), sizeof (1l),
	    sizeof (1UL), sizeof (1LL), sizeof (1ULL));
	exit(0);
}
