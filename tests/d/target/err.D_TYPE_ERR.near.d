/*
 * An unknown type's name: the nearest one is said.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(((struct a.out`recrod *)arg0)->at.x);
}
