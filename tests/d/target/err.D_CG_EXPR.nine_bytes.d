/*
 * A bit-field that no load can take at once.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(a.out`packed.wide);
}
