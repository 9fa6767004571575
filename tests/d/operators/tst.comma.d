/*
 * A comma evaluates both sides and has the value of the right side.
 * @flags: -q
 */
BEGIN
{
	x = (a = 1, b = 2, a + b);
	printf("%d %d %d\n", a, b, x);
	c = 7, d = 8;
	printf("%d %d\n", c, d);
	exit(0);
}
