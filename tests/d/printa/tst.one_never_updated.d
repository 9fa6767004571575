/*
 * printa() of several aggregations prints 0 for those that were never updated. If no
 * aggregation was updated, it prints nothing.
 * @flags: -q
 */
BEGIN
{
	@a[1] = sum(5);
	@a[2] = sum(7);
}

BEGIN
/0/
{
	@b[1] = count();
	@c[1] = quantize(1);
}

BEGIN
{
	printa("%d %@d %@d\n", @a, @b);
	printa("%d %@d %@d\n", @b, @a);
	printa(@a, @b);
	printa("never printed %d %@d %@d\n", @b, @c);
	printa(@b);
	printf("end\n");
	exit(0);
}
