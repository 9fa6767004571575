/*
 * There is no process that a type could be of.
 */
BEGIN
{
	trace(sizeof (struct a.out`point));
}
