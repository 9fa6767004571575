/*
 * A name in the target's scope must be a symbol or an enumerator of the target.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(a.out`nothing);
}
