/*
 * The value of an assignment is the value that was stored. Assignments are right-associative.
 * @flags: -q
 */
char c;

BEGIN
{
	a = b = 5;
	x = c = 0x141;
	printf("%d %d %d %d\n", a, b, c, x);
	printf("%d\n", (a += 3) * 2);
	exit(0);
}
