/*
 * Storing 0 into an element that is a structure frees the element.
 * @flags: -q
 */
struct pair {
	int a;
	int b;
};
struct pair x[int];
self struct pair y;
this struct pair p;

BEGIN
{
	this->p.a = 1;
	this->p.b = 2;
	x[1] = this->p;
	x[2] = this->p;
	self->y = this->p;
	x[1] = 0;
	printf("%d %d, %d %d, %d\n", x[1].a, x[1].b, x[2].a, x[2].b, self->y.b);
	self->y = 0;
	printf("%d %d\n", self->y.a, self->y.b);
	x[1].b = 5;
	printf("%d %d\n", x[1].a, x[1].b);
	exit(0);
}
