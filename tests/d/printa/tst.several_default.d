/*
 * Several aggregations without a format have a column each.
 * @flags: -q
 */
BEGIN
{
	@a["x"] = sum(1);
	@b["x"] = sum(30);
	printa(@a, @b);
	exit(0);
}
