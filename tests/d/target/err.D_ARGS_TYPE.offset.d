/*
 * At an offset inside a function, the locations of its arguments are unknown.
 * @command: records
 */
pid$target:a.out:visit:0
{
	trace(args[0]);
}
