/*
 * normalize also divides count, avg and the buckets of quantize.
 * @flags: -q
 */
BEGIN
{
	@c = count(); @c = count(); @c = count(); @c = count();
	@v = avg(100); @v = avg(200);
	@q = quantize(1, 10);
	normalize(@c, 2);
	normalize(@v, 3);
	normalize(@q, 5);
	printa("%@d\n", @c);
	printa("%@d\n", @v);
	printa("%@d\n", @q);
	exit(0);
}
