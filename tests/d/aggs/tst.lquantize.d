/*
 * lquantize counts values in buckets of equal width between a base and a limit.
 * @flags: -q
 */
BEGIN
{
	@ = lquantize(-1, 0, 30, 10);
	@ = lquantize(0, 0, 30, 10);
	@ = lquantize(15, 0, 30, 10);
	@ = lquantize(100, 0, 30, 10);
	exit(0);
}
