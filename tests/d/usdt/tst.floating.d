/*
 * A floating-point argument is a double, even if the program passed a float.
 * @command: kinds 2
 * @replace: ^[a-z].*\n ->
 * @flags: -q
 */
kinds*:::floating
{
	printf("> %.2f %.2f %.3f\n", args[0], args[1], args[0] * args[1]);
}
