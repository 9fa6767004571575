/*
 * A normalized average is the sum, divided first by the divisor of normalize and then by the count.
 * @flags: -q
 */
BEGIN
{
	@a = avg(7); @a = avg(8);
	@b = avg(-7); @b = avg(-8);
	normalize(@a, 2);
	normalize(@b, 2);
	printa("%@d\n", @a);
	printa("%@d\n", @b);
	exit(0);
}
