/*
 * print shows each struct of an array on its own lines, and an unnamed struct without a name.
 * @flags: -q
 */
struct pair { int a; int b; };
struct deep {
	struct pair list[2];
	struct { int inside; };
	union { int n; char c; } u;
	int low : 3, high : 8;
	char text[4], raw[2];
};
struct deep d;
BEGIN
{
	d.list[1].b = 7;
	d.inside = 8;
	d.u.n = 0x41;
	d.low = 2;
	d.high = 3;
	d.text[0] = 'a';
	d.raw[0] = 7;
	d.raw[1] = 'b';
	print(d);
	printf("\n");
	print(d.u);
	printf("\n");
	exit(0);
}
