/*
 * args[N] of a static probe has the type that the program passed. argN contains the same bits.
 * @command: kinds 3
 * @replace: ^[a-z].*\n ->
 * @flags: -q
 */
kinds*:::small
{
	printf("> %d %d %d %d %d %d\n", args[0], args[1], args[2], args[3], args[4], args[5]);
}

kinds*:::wide-ones
{
	printf("> %d %u %d %d %d\n", args[0], args[1], args[2], args[3], *(int *)copyin(arg4, 4));
}
