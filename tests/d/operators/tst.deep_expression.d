/*
 * An expression may be nested deeply.
 * @flags: -q
 */
BEGIN
{
	a = 1;
	printf("%d\n", a + (a + (a + (a + (a + (a + (a + a)))))));
	printf("%d\n", ((((((((a + 1) * 2) + 1) * 2) + 1) * 2) + 1) * 2));
	exit(0);
}
