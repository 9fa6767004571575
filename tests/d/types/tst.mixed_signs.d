/*
 * An int is compared with an unsigned int as unsigned, and with a long as signed.
 * @flags: -q
 */
BEGIN
{
	u = (unsigned int)1;
	i = -1;
	l = (long)1;
	printf("%d\n", i < u);
	printf("%d\n", i < l);
	printf("%d\n", (long)i < u);
	exit(0);
}
