/*
 * Heights in UTF-8, and in ASCII when that is asked for.
 * @flags: -q -x encoding=utf8 -x aggpack
 */
BEGIN
{
	@["a"] = quantize(1, 1);
	@["a"] = quantize(2, 2);
	@["a"] = quantize(4, 4);
	@["a"] = quantize(8, 8);
	printa(@);
	exit(0);
}
