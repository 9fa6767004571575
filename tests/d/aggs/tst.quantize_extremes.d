/*
 * quantize has buckets for the largest and the smallest values.
 * @flags: -q
 */
BEGIN
{
	@a = quantize(9223372036854775807);
	@b = quantize(-9223372036854775807 - 1);
	printa(@a);
	printa(@b);
	exit(0);
}
