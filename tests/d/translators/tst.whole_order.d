/*
 * The members of an entire translation are evaluated in order. In a union, the last
 * member remains.
 * @flags: -q
 */
struct o { int a; int b; int c; };
union u { int a; char b; };
struct i { int q; };
translator struct o < int z > { a = n++; b = n++; c = n++; };
translator union u < int z > { a = z; b = 3; };
translator struct o < struct i *z > { a = z->q; b = 0; c = 0; };
BEGIN
{
	n = 0;
	g = xlate <struct o> (1);
	h = xlate <union u> (0x100);
	printf("%d %d %d %x\n", g.a, g.b, g.c, h.a);
}
struct i iv;
BEGIN
{
	iv.q = 7;
	printf("%d\n", xlate <struct o> ((void *)&iv).a);
	exit(0);
}
