/*
 * ?: evaluates only the arm that it chooses.
 * @flags: -q
 */
BEGIN
{
	x = 1;
	y = x ? (a = 10) : (b = 20);
	printf("%d %d %d\n", y, a, b);
	y = !x ? (a = 11) : (b = 21);
	printf("%d %d %d\n", y, a, b);
	exit(0);
}
