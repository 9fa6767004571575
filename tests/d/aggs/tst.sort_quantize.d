/*
 * Distributions are sorted by their weighted sums.
 * @flags: -q
 */
BEGIN
{
	@["large"] = quantize(100);
	@["small"] = quantize(1); @["small"] = quantize(1);
	printa("%s%@d", @);
	exit(0);
}
