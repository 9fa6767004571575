/*
 * A constant without a suffix has the smallest type that holds it. A decimal constant is never unsigned int.
 * @flags: -q
 */
BEGIN
{
	printf("%d %d %d\n", sizeof (2147483647), sizeof (2147483648),
	    sizeof (4294967296));
	printf("%d %d %d\n", sizeof (0x7fffffff), sizeof (0xffffffff),
	    sizeof (0x100000000));
	printf("%d %d\n", -2147483648 < 0, -0x80000000 < 0);
	exit(0);
}
