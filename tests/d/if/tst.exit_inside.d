/*
 * exit in a branch ends tracing after the branch has run.
 * @exit: 4
 * @flags: -q
 */
BEGIN
{
	if (1) { printf("a "); exit(4); printf("b\n"); }
}
BEGIN { printf("never\n"); }
