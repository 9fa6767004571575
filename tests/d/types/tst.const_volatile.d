/*
 * const, volatile and restrict are accepted and have no effect.
 * @flags: -q
 */
const int a;
volatile unsigned long b;
struct s { const char *p; char *restrict q; };

BEGIN
{
	b = 5;
	printf("%d %d %d\n", a, b, sizeof (struct s));
	exit(0);
}
