/*
 * An int compared with an unsigned int is compared as unsigned, with a long as signed.
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
