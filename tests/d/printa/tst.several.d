/*
 * printa joins several aggregations by their keys. A missing value is printed as zero.
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
