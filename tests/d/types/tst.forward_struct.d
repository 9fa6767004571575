/*
 * A pointer to a struct whose body is not known can be kept and compared.
 * @flags: -q
 */
struct later;
struct later *p;

BEGIN
{
	p = (struct later *)64;
	printf("%d %d\n", p == NULL, sizeof (p));
	exit(0);
}
