/*
 * A pointer to an incomplete struct can be stored and compared.
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
