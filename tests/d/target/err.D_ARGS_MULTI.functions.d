/*
 * A clause for several functions cannot use an argument whose type differs among them.
 * @command: records
 */
pid$target:a.out:visit:entry,
pid$target:a.out:walk:entry
{
	trace(args[0]->at.x);
}
