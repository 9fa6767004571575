/*
 * Assigning a struct copies all its members.
 * @flags: -q
 */
struct pair { int a; int b; };
struct pair x, y;

BEGIN
{
	x.a = 1;
	x.b = 2;
	y = x;
	x.a = 9;
	printf("%d %d %d %d\n", x.a, x.b, y.a, y.b);
	exit(0);
}
