/*
 * The members of a union share the same memory.
 * @flags: -q
 */
union both { int i; char c[4]; };
union both u;

BEGIN
{
	u.i = 0x01020304;
	printf("%d %d %d %d\n", u.c[0], u.c[1], u.c[2], u.c[3]);
	u.c[3] = 0x7f;
	printf("%x %d\n", u.i, sizeof (union both));
	exit(0);
}
