/*
 * Functions with different arguments in one clause.
 * @command: records
 */
pid$target:a.out:visit:entry,
pid$target:a.out:walk:entry
{
	trace(args[0]->at.x);
}
