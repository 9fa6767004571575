/*
 * Members of the elements of an array of structs can be read and written.
 * @flags: -q
 */
struct pair { short a; long b; };
struct pair v[3];
BEGIN
{
	v[0].a = 1;
	v[2].b = 1234567890123;
	v[1] = v[2];
	v[2].b++;
	printf("%d %d %d %d\n", v[0].a, v[1].b, v[2].b, sizeof (v));
	exit(0);
}
