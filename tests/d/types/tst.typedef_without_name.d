/*
 * A typedef of a structure without a new name only declares the structure's tag.
 * @flags: -q
 */
typedef struct tag { int a; int b; };

BEGIN
{
	printf("%d\n", sizeof(struct tag));
	exit(0);
}
