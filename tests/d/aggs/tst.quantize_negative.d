/*
 * Negative values have buckets by negative powers of two.
 * @flags: -q
 */
BEGIN
{
	@ = quantize(-1); @ = quantize(-5); @ = quantize(1); @ = quantize(0);
	exit(0);
}
