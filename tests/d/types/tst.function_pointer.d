/*
 * A pointer to a function can be declared and printed.
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
