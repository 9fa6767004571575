/*
 * llquantize counts values in buckets whose width grows with the magnitude.
 * @flags: -q
 */
BEGIN
{
	@ = llquantize(0, 10, 0, 2, 10);
	@ = llquantize(5, 10, 0, 2, 10);
	@ = llquantize(55, 10, 0, 2, 10);
	@ = llquantize(5000, 10, 0, 2, 10);
	exit(0);
}
