/*
 * A struct of the target does not have this member.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(args[0]->nmae);
}
