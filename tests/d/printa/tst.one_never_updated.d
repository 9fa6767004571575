/*
 * printa() of several aggregations prints the rows of those that were updated, and 0
 * for one that never was. Nothing is printed when none was.
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
