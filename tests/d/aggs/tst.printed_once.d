/*
 * An aggregation that the program has printed is not printed again at the end.
 * @flags: -q
 */
BEGIN
{
	@a = sum(1);
	@b = sum(2);
	printa("a %@d\n", @a);
	exit(0);
}
