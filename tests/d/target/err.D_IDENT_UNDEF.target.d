/*
 * Neither a symbol nor an enumerator of the target.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(a.out`nothing);
}
