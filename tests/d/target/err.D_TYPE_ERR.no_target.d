/*
 * Without a target, a type of a process does not exist.
 */
BEGIN
{
	trace(sizeof (struct a.out`point));
}
