/*
 * The index of args[] must be less than the number of arguments.
 * @command: records
 */
pid$target:a.out:find:entry
{
	trace(args[2]);
}
