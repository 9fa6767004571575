/*
 * A typedef of a structure that gives no name declares the structure's tag.
 * @flags: -q
 */
typedef struct tag { int a; int b; };

BEGIN
{
	printf("%d\n", sizeof(struct tag));
	exit(0);
}
