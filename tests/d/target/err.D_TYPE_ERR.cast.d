/*
 * A cast to an unknown type is no product with it.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(((a.out`point *)arg0)->x);
}
