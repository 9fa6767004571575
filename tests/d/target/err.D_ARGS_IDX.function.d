/*
 * A function has so many arguments.
 * @command: records
 */
pid$target:a.out:find:entry
{
	trace(args[2]);
}
