/*
 * One printa may print three aggregations with different functions.
 * @flags: -q
 */
BEGIN
{
	@lo["k"] = min(3); @lo["k"] = min(9);
	@hi["k"] = max(3); @hi["k"] = max(9);
	@av["k"] = avg(3); @av["k"] = avg(9);
	printa("%s: %@d..%@d, %@d on average\n", @lo, @hi, @av);
	exit(0);
}
