/*
 * Within a function its arguments have no known places.
 * @command: records
 */
pid$target:a.out:visit:0
{
	trace(args[0]);
}
