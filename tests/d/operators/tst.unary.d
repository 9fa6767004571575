/*
 * Unary + keeps the value of an expression, and unary - negates it.
 * @flags: -q
 */
BEGIN
{
	a = 5;
	printf("%d %d %d %d\n", -a, +a, - -a, -(-a));
	printf("%d\n", -(char)-128);
	exit(0);
}
