/*
 * The buckets of negative values are bounded by negative powers of two.
 * @flags: -q
 */
BEGIN
{
	@ = quantize(-1); @ = quantize(-5); @ = quantize(1); @ = quantize(0);
	exit(0);
}
