/*
 * A process that is not traced.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(sizeof (struct pid1`point));
}
