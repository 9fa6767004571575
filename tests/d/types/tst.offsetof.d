/*
 * offsetof returns the offset that a member has in C.
 * @flags: -q
 */
struct mixed {
	char a;
	short b;
	char c;
	int d;
	char e;
	long f;
	char g[3];
	struct { int h; } i;
};

BEGIN
{
	printf("%d %d %d %d ", offsetof(struct mixed, a), offsetof(struct mixed, b),
	    offsetof(struct mixed, c), offsetof(struct mixed, d));
	printf("%d %d %d %d ", offsetof(struct mixed, e), offsetof(struct mixed, f),
	    offsetof(struct mixed, g), offsetof(struct mixed, i));
	printf("%d\n", sizeof (struct mixed));
	exit(0);
}
