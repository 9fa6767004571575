/*
 * A declaration without a type declares an int. A function may be declared with (...) alone.
 * @flags: -q
 */
extern count_of_things;
extern int log(...);
const limit;
self depth, *top, path[4];
this step;

struct pair {
	const first;
	int second;
};

BEGIN
{
	limit = 7;
	self->depth = -3;
	self->path[1] = 5;
	this->step = 1 << 31;
	printf("%d %d %d %d\n", limit, self->depth, self->path[1], this->step);
	printf("%d %d\n", sizeof (self->depth), sizeof (struct pair));
	exit(0);
}
