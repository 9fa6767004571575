/*
 * A thread-local variable may be a struct. After the struct is set, its members can be set.
 * @flags: -q
 */
struct pair { int a; int b; };
struct pair zero;
self struct pair p;

BEGIN
{
	self->p = zero;
	self->p.a = 1;
	self->p.b = 2;
	printf("%d %d\n", self->p.a, self->p.b);
	exit(0);
}
