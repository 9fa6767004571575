/*
 * The members of a struct that the program declares can be written and read.
 * @flags: -q
 */
struct point {
	int x;
	char tag;
	long y;
};
struct point p;

BEGIN
{
	p.x = -3;
	p.tag = 'q';
	p.y = (long)1 << 40;
	printf("%d %c %d\n", p.x, p.tag, p.y);
	printf("%d %d\n", sizeof (struct point), sizeof (p.y));
	exit(0);
}
