/*
 * Integers are octal after the prefix 0, hexadecimal after 0x, and decimal otherwise.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", 10, 010, 0x10, 0XfF);
	exit(0);
}
