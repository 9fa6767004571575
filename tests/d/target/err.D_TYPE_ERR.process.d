/*
 * A type cannot be in the scope of a process that is not traced.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(sizeof (struct pid1`point));
}
