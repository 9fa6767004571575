/*
 * aggsortpos is the position of the aggregation whose values are compared first.
 * @flags: -q -x aggsortpos=1
 */
BEGIN
{
	@a["x"] = sum(1); @b["x"] = sum(9);
	@a["y"] = sum(2); @b["y"] = sum(8);
	printa("%s %@d %@d\n", @a, @b);
	exit(0);
}
