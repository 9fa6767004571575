/*
 * The error message about an unknown type contains the name of the most similar type.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(((struct a.out`recrod *)arg0)->at.x);
}
