/*
 * print shows a value with its type.
 * @flags: -q
 */
struct pair { int a; char b[4]; };
enum colour { RED, GREEN };
struct pair p;
enum colour c;
int i;

BEGIN
{
	i = 42;
	p.a = 7;
	p.b[0] = 'x';
	c = GREEN;
	print(i); printf("\n");
	print(p); printf("\n");
	print(c); printf("\n");
	exit(0);
}
