/*
 * aggpack draws a larger count as a taller character, and has other characters for negative counts.
 * @flags: -q -x aggpack
 */
BEGIN
{
	@h["up"] = quantize(1, 1);
	@h["up"] = quantize(2, 2);
	@h["up"] = quantize(4, 4);
	@h["up"] = quantize(8, 8);
	@h["down"] = quantize(1, -1);
	@h["down"] = quantize(2, -6);
	@h["both"] = quantize(1, 3);
	@h["both"] = quantize(2, -3);
	@cleared = quantize(1);
	clear(@cleared);
	exit(0);
}
