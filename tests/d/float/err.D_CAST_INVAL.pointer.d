/*
 * A double is no address.
 */
BEGIN
{
	trace((char *)1.5);
}
