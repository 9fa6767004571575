/*
 * A comparison of int and unsigned int is unsigned. A comparison of int and long is signed.
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
