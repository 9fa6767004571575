/*
 * The error for an unknown type names the most similar type.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(((struct a.out`recrod *)arg0)->at.x);
}
