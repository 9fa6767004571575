/*
 * ~ needs an integer.
 */
BEGIN
{
	trace(~1.5);
}
