/*
 * A double is no key: whether two are the same is not a matter of their bits.
 */
BEGIN
{
	@[1.5] = count();
}
