/*
 * An argument after an __int128 on the stack is not available, because its place depends on the compiler.
 * @command: passing
 */
pid$target:a.out:crowded:entry
{
	trace(args[6]);
}
