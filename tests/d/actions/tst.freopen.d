/*
 * freopen sends the output elsewhere, and back with an empty name.
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
