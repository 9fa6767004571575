/*
 * print() shows the number of bits of a bit-field.
 * @flags: -q
 */
struct flags {
	unsigned int a : 3;
	unsigned int b : 8;
	short c : 4;
	int whole;
} f;

BEGIN
{
	f.a = 5;
	f.c = -1;
	f.whole = 16;
	print(f);
	printf("\n");
	exit(0);
}
