/*
 * Compilers do not agree on where an __int128 lies that has no registers, nor on what is behind.
 * @command: passing
 */
pid$target:a.out:crowded:entry
{
	trace(args[6]);
}
