/*
 * A clause for two functions cannot use an argument that has different types in them.
 * @command: records
 */
pid$target:a.out:visit:entry,
pid$target:a.out:walk:entry
{
	trace(args[0]->at.x);
}
