/*
 * At the end, the aggregations are printed in the order of their creation.
 * @flags: -q
 */
BEGIN
{
	@second = sum(22);
	@first = sum(11);
	exit(0);
}
