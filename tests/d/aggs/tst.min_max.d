/*
 * min and max keep the smallest and the largest value, compared as signed numbers.
 * @flags: -q
 */
BEGIN
{
	@lo = min(5); @lo = min(-7); @lo = min(100);
	@hi = max(-5); @hi = max(-7); @hi = max(-100);
	printa("%@d\n", @lo);
	printa("%@d\n", @hi);
	exit(0);
}
