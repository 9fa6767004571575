/*
 * With aggzoom, the largest bar has almost the full width.
 * @flags: -q -x agghist -x aggzoom
 */
BEGIN
{
	@["a"] = sum(100);
	@["b"] = sum(50);
	@["c"] = sum(1);
	@q = quantize(5);
	@q = quantize(50);
	exit(0);
}
