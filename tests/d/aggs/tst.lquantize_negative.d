/*
 * The base of lquantize may be negative.
 * @flags: -q
 */
BEGIN
{
	@ = lquantize(-100, -20, 21, 10);
	@ = lquantize(-15, -20, 21, 10);
	@ = lquantize(5, -20, 21, 10);
	exit(0);
}
