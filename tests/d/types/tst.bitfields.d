/*
 * Writing a bit-field of a struct that the D program declares changes no other bit-field.
 * @flags: -q
 */
struct bits {
	unsigned int a : 3;
	unsigned int b : 5;
	int c : 4;
	unsigned int d : 20;
};
struct bits v;

BEGIN
{
	v.a = 5;
	v.b = 31;
	v.c = -3;
	v.d = 0x12345;
	printf("%d %d %d %x %d\n", v.a, v.b, v.c, v.d, sizeof (struct bits));
	v.b = 0;
	printf("%d %d %d %x\n", v.a, v.b, v.c, v.d);
	v.a = 15;
	printf("%d %d\n", v.a, v.b);
	exit(0);
}
