/*
 * print shows nested structs, arrays and pointers.
 * @flags: -q
 */
struct inner { int a; char *p; };
struct outer { struct inner in; short list[3]; };
struct outer o;
BEGIN
{
	o.in.a = 1;
	o.in.p = (char *)0x10;
	o.list[1] = 5;
	print(o);
	printf("\n");
	exit(0);
}
