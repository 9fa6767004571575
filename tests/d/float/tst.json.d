/*
 * In JSON, a double is a number, and infinity is the string "inf".
 * @flags: -x format=json
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
double zero;
BEGIN
{
	trace(1.5);
	trace(1 / zero);
	@a = sum(0.25);
	@b = max(1 / zero);
	exit(0);
}
