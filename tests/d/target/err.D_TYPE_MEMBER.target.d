/*
 * A struct of the target has only the members that its definition lists.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(args[0]->nmae);
}
