/*
 * << needs integers.
 */
BEGIN
{
	trace(1 << 2.0);
}
