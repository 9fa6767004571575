/*
 * A bare @ is the aggregation @_.
 * @flags: -q
 */
BEGIN
{
	@ = count();
	@_ = count();
	printa("%@d\n", @);
	printa("%@d\n", @_);
	exit(0);
}
