/*
 * The tags of structures, unions and enumerations are in three separate name spaces.
 * @flags: -q
 */
struct tag { int a; int b; };
union tag { int a; char b; };
enum tag { TAG_A = 3 };

BEGIN
{
	printf("%d %d %d\n", sizeof(struct tag), sizeof(union tag), sizeof(enum tag));
	exit(0);
}
