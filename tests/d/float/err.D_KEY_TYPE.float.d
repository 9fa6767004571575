/*
 * A double cannot be a key, because two equal doubles may have different bits.
 */
BEGIN
{
	@[1.5] = count();
}
