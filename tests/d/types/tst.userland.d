/*
 * The keyword userland may mark a type as a type of the traced process.
 * @flags: -q
 */
userland int *p;
struct box { int a; };
userland struct box *b;

BEGIN
{
	printf("%d %d\n", sizeof (p), p == NULL);
	exit(0);
}
