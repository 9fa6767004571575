/*
 * freopen redirects the output; an empty name restores the original output.
 * @flags: -q -w
 */
BEGIN
{
	printf("one\n");
	freopen("/dev/null");
	printf("two\n");
	freopen("");
	printf("three\n");
	exit(0);
}
