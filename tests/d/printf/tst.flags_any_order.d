/*
 * Flags may follow the width and the precision. If both - and 0 are given, the last flag is used.
 * @flags: -q
 */
BEGIN
{
	printf("[%6-d][%6.3-d][%8#x][%12'd]\n", 42, 7, 255, 1234567);
	printf("[%-06d][%0-6d]\n", 42, 42);
	@a["x"] = sum(42);
	printa("[%s][%6@d][%6-@d][%-6@d]\n", @a, @a, @a);
	exit(0);
}
