/*
 * Without a format, each of several aggregations has its own column.
 * @flags: -q
 */
BEGIN
{
	@a["x"] = sum(1);
	@b["x"] = sum(30);
	printa(@a, @b);
	exit(0);
}
