/*
 * After an __int128 on the stack, an argument is unavailable, because compilers disagree on its place.
 * @command: passing
 */
pid$target:a.out:crowded:entry
{
	trace(args[6]);
}
