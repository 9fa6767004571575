/*
 * Two uses of lquantize on one aggregation may have
 * different limits if they have the same number of levels.
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
