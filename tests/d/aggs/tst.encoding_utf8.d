/*
 * With encoding=utf8, the length of a bar is drawn in eighths of a column.
 * @flags: -q -x encoding=utf8 -x agghist
 */
BEGIN
{
	@q = quantize(1, 7);
	@q = quantize(2, 3);
	@q = quantize(4, 1);
	@["a"] = sum(7);
	@["b"] = sum(3);
	@["c"] = sum(1);
	exit(0);
}
