/*
 * sizeof takes an expression and does not evaluate it.
 * @flags: -q
 */
BEGIN
{
	x = 1;
	printf("%d %d %d\n", sizeof (x), sizeof (x + 1LL), sizeof x);
	printf("%d\n", sizeof (x = 7));
	printf("%d\n", x);
	exit(0);
}
