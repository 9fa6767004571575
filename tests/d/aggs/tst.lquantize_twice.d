/*
 * Two uses of lquantize on one aggregation may have the same limit, or limits that give the
 * same levels, even if the limits are not a multiple of the step above the base.
 * @flags: -q
 */
BEGIN
{
	@a = lquantize(2, 1, 4, 2);
	@a = lquantize(2, 1, 4, 2);
	@b = lquantize(5, 1, 9, 3);
	@b = lquantize(5, 1, 8, 3);
	exit(0);
}
