/*
 * A bit-field without a name is padding. If its width is 0, it ends the storage unit.
 * @flags: -q
 */
struct flags {
	unsigned int a : 3;
	unsigned int : 2;
	unsigned int b : 3;
	unsigned int : 0;
	unsigned int c : 4;
} f;

BEGIN
{
	f.a = 5;
	f.b = 6;
	f.c = 9;
	printf("%d %d %d, %d bytes\n", f.a, f.b, f.c, sizeof (f));
	exit(0);
}
