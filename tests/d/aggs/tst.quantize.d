/*
 * quantize counts values in buckets that begin at powers of two.
 * @flags: -q
 */
BEGIN
{
	@ = quantize(1); @ = quantize(2); @ = quantize(3); @ = quantize(7);
	exit(0);
}
