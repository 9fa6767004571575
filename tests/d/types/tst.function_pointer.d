/*
 * A struct may have pointers to functions as members.
 * @flags: -q
 */
struct ops { int (*open)(const char *, int); void (*close)(void); };
struct ops *o;

BEGIN
{
	o = (struct ops *)0;
	printf("%d %d\n", sizeof (struct ops), offsetof(struct ops, close));
	exit(0);
}
