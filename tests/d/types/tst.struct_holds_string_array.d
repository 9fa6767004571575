/*
 * Copying a struct also copies an array of characters in it.
 * @flags: -q
 */
struct named { int id; char name[8]; };
struct named a, b;
struct named by_id[int];
BEGIN
{
	a.id = 4;
	a.name[0] = 'o';
	a.name[1] = 'k';
	b = a;
	a.name[0] = 'x';
	by_id[b.id] = b;
	printf("%s %s %s\n", a.name, b.name, by_id[4].name);
	exit(0);
}
