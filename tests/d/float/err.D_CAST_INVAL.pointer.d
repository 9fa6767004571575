/*
 * A double cannot be cast to a pointer.
 */
BEGIN
{
	trace((char *)1.5);
}
