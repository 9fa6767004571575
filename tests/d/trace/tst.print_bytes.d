/*
 * print shows a string in a struct as an array of char, and unsigned bytes as numbers.
 * @flags: -q
 */
struct mixed { char c; uint8_t u; string s; char a[4]; };
struct mixed m;
BEGIN
{
	m.c = 'x';
	m.u = 120;
	m.s = "text";
	m.a[0] = 'y';
	print(m);
	printf("\n");
	print("text");
	exit(0);
}
