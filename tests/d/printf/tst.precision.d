/*
 * A precision is the minimum number of digits, or the maximum number of characters.
 * @flags: -q
 */
BEGIN
{
	printf("[%.5d] [%8.3d] [%.3x]\n", 42, 7, 10);
	printf("[%.2s] [%6.2s] [%-6.2s] [%.0s]\n", "abcdef", "abcdef", "abcdef", "abc");
	exit(0);
}
