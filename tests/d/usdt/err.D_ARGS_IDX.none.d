/*
 * An argument that a static probe does not have is refused.
 * @command: kinds 1
 */
kinds*:::none
{
	trace(args[0]);
}
