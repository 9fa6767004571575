/*
 * An entire translation is a value. Members that the translator does not define are 0.
 * @flags: -q
 */
struct raw { int a; char b; };
struct point { int x, y; };
struct nice { int sum; string name; struct point at; int none; int *where; };
struct raw from;
struct point origin;
translator struct nice < struct raw r > {
	sum = r.a + r.b;
	name = strjoin("raw ", lltostr(r.a));
	at = origin;
};
translator struct point < struct raw r > {
};

BEGIN
{
	from.a = 3;
	from.b = 4;
	origin.y = 9;
	to = xlate <struct nice> (from);
	printf("%d %s %d %d %p\n", to.sum, to.name, to.at.y, to.none, to.where);
	from.a = 5;
	this->again = *xlate <struct nice *> (from);
	printf("%d %d\n", to.sum, this->again.sum);
	all[from.a] = xlate <struct nice> (from);
	printf("%s %d\n", all[5].name, sizeof (xlate <struct nice> (from)));
	empty = xlate <struct point> (from);
	printf("%d %d\n", empty.x, empty.y);
	print(*xlate <struct nice *> (from));
	exit(0);
}
