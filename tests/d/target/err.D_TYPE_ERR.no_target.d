/*
 * Without a target, a type in the scope of a.out is unknown.
 */
BEGIN
{
	trace(sizeof (struct a.out`point));
}
