/*
 * Distributions of doubles count their integer parts.
 * @flags: -q
 */
BEGIN
{
	@quantize = quantize(5.9);
	@quantize = quantize(-1.5);
	@lquantize = lquantize(2.99, 0, 5);
	@llquantize = llquantize(12.5, 10, 0, 2, 10);
	exit(0);
}
