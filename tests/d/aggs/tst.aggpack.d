/*
 * aggpack draws a distribution on one line; all rows of a table have the same range.
 * @flags: -q -x aggpack
 */
BEGIN
{
	@["bash"] = quantize(4);
	@["bash"] = quantize(5);
	@["bash"] = quantize(100);
	@["ls"] = quantize(30);
	@["ls"] = quantize(0);
	@alone = quantize(-9);
	@linear[1] = lquantize(3, 0, 10);
	@linear[2] = lquantize(30, 0, 10);
	@linear[2] = lquantize(-30, 0, 10);
	@loglinear = llquantize(50, 10, 0, 2, 10);
	exit(0);
}
