/*
 * A bit-field that spans nine bytes cannot be read, because no load is that wide.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(a.out`packed.wide);
}
