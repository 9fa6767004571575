/*
 * A member that a struct of the target has not.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(args[0]->nmae);
}
