/*
 * A printf may have many arguments of many sizes.
 * @flags: -q
 */
BEGIN
{
	printf("%c%d%hd%ld%s%c%d%hd%ld%s%x%x%x%x%x%x\n", 'a', 1, (short)2, (long)3, "x",
	    'b', 4, (short)5, (long)6, "yz", 10, 11, 12, 13, 14, (long)15);
	exit(0);
}
