/*
 * Using an array member of an unset dynamic
 * variable as a pointer creates the variable.
 * @flags: -q
 */
struct s { int n; int m[3]; };
struct s g[int];
self struct s t;
struct s *none;
BEGIN
{
	this->p = (int *)g[9].m;
	this->p[1] = 4;
	*(g[10].m + 1) = 5;
	*(self->t.m + 2) = 6;
	bcopy(g[10].m, g[13].m, sizeof (g[10].m));
	printf("%d %d %d %d\n", g[9].m[1], g[10].m[1], self->t.m[2], g[13].m[1]);
	exit(0);
}
