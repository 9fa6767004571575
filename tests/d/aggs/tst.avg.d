/*
 * avg divides the sum by the count, and rounds toward zero.
 * @flags: -q
 */
BEGIN
{
	@a = avg(1); @a = avg(2); @a = avg(4);
	@b = avg(-1); @b = avg(-2); @b = avg(-4);
	printa("%@d\n", @a);
	printa("%@d\n", @b);
	exit(0);
}
