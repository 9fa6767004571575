/*
 * Integers are decimal, octal after 0 and hexadecimal after 0x.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d %d\n", 10, 010, 0x10, 0XfF);
	exit(0);
}
