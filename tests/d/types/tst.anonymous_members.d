/*
 * Members of an anonymous struct or union belong to the struct around it.
 * @flags: -q
 */
struct around {
	int a;
	union { int b; char c; };
	struct { int d; int e; };
};
struct around v;

BEGIN
{
	v.b = 0x41;
	v.e = 5;
	printf("%c %d %d %d\n", v.c, v.d, v.e, sizeof (struct around));
	printf("%d\n", offsetof(struct around, e));
	exit(0);
}
