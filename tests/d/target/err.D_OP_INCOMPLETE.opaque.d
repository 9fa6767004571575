/*
 * The members of a struct that the target only declares are unknown.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(args[0]->opaque->x);
}
