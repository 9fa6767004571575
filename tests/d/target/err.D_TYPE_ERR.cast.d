/*
 * A cast to an unknown type is not parsed as a multiplication.
 * @command: records
 */
pid$target:a.out:visit:entry
{
	trace(((a.out`point *)arg0)->x);
}
