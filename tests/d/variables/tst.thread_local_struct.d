/*
 * A thread-local variable may be a struct; once it is set its members can be.
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
