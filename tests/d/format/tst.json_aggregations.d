/*
 * In JSON, each row of an aggregation is an object. It is in the record of printa(), or at the end.
 * @flags: -x format=json
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
BEGIN
{
	@shown["a", 1] = count();
	@shown["b", 2] = count();
	@shown["b", 2] = count();
	@average = avg(3);
	@average = avg(4);
	@powers = quantize(5);
	@powers = quantize(-9);
	@lines[1] = lquantize(5, 0, 4, 1);
	@lines[1] = lquantize(-5, 0, 4, 1);
	@lines[1] = lquantize(2, 0, 4, 1);
	@normal = sum(100);
	normalize(@normal, 10);
	printa(@shown);
	exit(0);
}
