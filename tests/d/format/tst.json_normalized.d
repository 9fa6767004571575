/*
 * In JSON, normalize also divides the counts of a distribution. The smallest 64-bit
 * count divided by -1 wraps.
 * @flags: -x format=json
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
BEGIN
{
	@least = quantize(1, -9223372036854775807 - 1);
	normalize(@least, -1);
	@negative = quantize(1, 10);
	normalize(@negative, -3);
	exit(0);
}
