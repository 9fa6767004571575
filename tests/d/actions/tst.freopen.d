/*
 * freopen redirects the output, and restores it if the name is empty.
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
