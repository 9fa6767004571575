/*
 * A character constant is an int, and may contain the escapes of C.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", 'a', 'Z', ' ', '/');
	printf("%d %d %d %d %d %d %d\n", '\a', '\b', '\f', '\n', '\r', '\t', '\v');
	printf("%d %d %d %d\n", '\\', '\'', '\"', '\?');
	printf("%d %d %d\n", '\0', '\101', '\x41');
	printf("%d\n", sizeof ('a'));
	exit(0);
}
