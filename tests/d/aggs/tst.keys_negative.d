/*
 * Keys that are equal in value sort as numbers without a sign, and those of one and two
 * bytes print so.
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
