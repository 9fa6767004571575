/*
 * An argument after an __int128 on the stack is unavailable, as compilers disagree on its location.
 * @command: passing
 */
pid$target:a.out:crowded:entry
{
	trace(args[6]);
}
