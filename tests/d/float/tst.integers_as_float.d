/*
 * %@f prints integers, too.
 * @flags: -q
 */
BEGIN
{
	@a = sum(5);
	@b = avg(2.5);
	printa("%@.1f %@.2f\n", @a, @b);
	exit(0);
}
