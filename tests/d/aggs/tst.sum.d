/*
 * sum adds its values, and wraps on overflow.
 * @flags: -q
 */
BEGIN
{
	@a = sum(5); @a = sum(-7); @a = sum(100);
	@b = sum(9223372036854775807); @b = sum(1);
	printa("%@d\n", @a);
	printa("%@d\n", @b);
	exit(0);
}
