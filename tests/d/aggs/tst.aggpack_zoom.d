/*
 * With aggzoom, the largest bucket has nearly the full height.
 * @flags: -q -x aggpack -x aggzoom
 */
BEGIN
{
	@["a"] = quantize(1, 10);
	@["a"] = quantize(2, 5);
	@["a"] = quantize(4, 1);
	exit(0);
}
