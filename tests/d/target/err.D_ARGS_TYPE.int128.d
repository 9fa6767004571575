/*
 * Compilers disagree on the locations of an __int128 on the stack and of the arguments after it.
 * @command: passing
 */
pid$target:a.out:crowded:entry
{
	trace(args[6]);
}
