/*
 * In JSON, raw bytes are hexadecimal. A line is valid JSON even if a string contains invalid UTF-8.
 * @flags: -x format=json
 * @replace: "time":\d+,"cpu":\d+ -> "time":T,"cpu":C
 */
char raw[3];
BEGIN
{
	raw[0] = 0x01;
	raw[2] = 0xff;
	tracemem(&raw[0], 3);
	tracemem(&raw[0], 3, 1);
	trace("caf\xe9");
	exit(0);
}
