/*
 * A type cannot be in the scope of a module that the process does not have.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(sizeof (struct libk.so`point));
}
