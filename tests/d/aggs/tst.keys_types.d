/*
 * Integers of different types are the same key if they are equal and not
 * negative.
 * @flags: -q
 */

BEGIN
{
	@q[(char)1] = quantize(1, 1);
	@c[(char)1] = count();
	@l[(char)2, 3] = lquantize(5, 0, 10, 5);
}

BEGIN
{
	@q[(long)1] = quantize(4, 2);
	@c[(long)1] = count();
	@l[(short)2, 3] = lquantize(7, 0, 10, 5);
	exit(0);
}
