/*
 * stddev is the population standard deviation, truncated to an integer.
 * @flags: -q
 */
BEGIN
{
	@a = stddev(2); @a = stddev(4); @a = stddev(4); @a = stddev(4);
	@a = stddev(5); @a = stddev(5); @a = stddev(7); @a = stddev(9);
	@b = stddev(5000000000000000000); @b = stddev(-5000000000000000000);
	@c = stddev(7);
	printa("%@d\n", @a);
	printa("%@d\n", @b);
	printa("%@d\n", @c);
	exit(0);
}
