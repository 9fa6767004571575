/*
 * Rows with equal values are sorted by their keys as unsigned numbers. Keys of 1 and 2
 * bytes are also printed as unsigned numbers.
 * @flags: -q
 */
BEGIN
{
	@[1] = count();
	@[-1] = count();
	@[0] = count();
	@c[(char)-2] = count();
	@c[(char)2] = count();
	@s[(short)-2] = count();
	@s[(short)2] = count();
	@l[-2ll] = count();
	@l[2ll] = count();
	exit(0);
}
