/*
 * With encoding=utf8, aggpack draws heights with UTF-8 characters.
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
