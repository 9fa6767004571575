/*
 * An associative array can hold structs.
 * @flags: -q
 */
struct pair { int a; int b; };
struct pair x;
struct pair table[int];

BEGIN
{
	x.a = 1;
	x.b = 2;
	table[5] = x;
	x.a = 3;
	table[6] = x;
	printf("%d %d %d %d\n", table[5].a, table[5].b, table[6].a, table[6].b);
	exit(0);
}
