/*
 * Keys that are equal in value sort as signed numbers.
 * @flags: -q
 */
BEGIN
{
	@[1] = count();
	@[-1] = count();
	@[0] = count();
	exit(0);
}
