/*
 * A struct that the target only declares.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(args[0]->opaque->x);
}
