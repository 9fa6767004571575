/*
 * Several aggregations are joined by their keys, with zero for a missing key.
 * @flags: -q
 */
BEGIN
{
	@a["x"] = sum(1);
	@a["y"] = sum(2);
	@b["y"] = sum(30);
	@b["z"] = sum(40);
	printa("%s %@d %@d\n", @a, @b);
	exit(0);
}
