/*
 * A struct may contain structs and arrays.
 * @flags: -q
 */
struct inner { int a[3]; char c; };
struct outer { char lead; struct inner in; struct inner more[2]; };
struct outer o;

BEGIN
{
	o.in.a[0] = 10;
	o.in.a[2] = 30;
	o.more[1].a[1] = 50;
	o.more[1].c = 7;
	printf("%d %d %d %d %d\n", o.in.a[0], o.in.a[1], o.in.a[2], o.more[1].a[1],
	    o.more[1].c);
	printf("%d %d\n", sizeof (struct inner), sizeof (struct outer));
	exit(0);
}
