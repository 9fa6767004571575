/*
 * Variables of every scope can be doubles and floats, and assigned values are converted.
 * @flags: -q
 */
double global;
float single;
self double mine;
this float here;
double by[string, int];
struct pair {
	double d;
	float f[2];
} pair;
BEGIN
{
	global = 1;
	single = 0.1;
	self->mine = global / 8;
	this->here = 2.5;
	by["a", 1] = 1e10;
	by["b", 2] = single;
	pair.d = 1.25;
	pair.f[1] = pair.d * 3;
	self->made = 0.5;
	made = this->here;
	printf("%g %.9f %g %g\n", global, single, self->mine, this->here);
	printf("%g %g %g\n", by["a", 1], by["b", 2], by["c", 3]);
	printf("%g %g %d\n", pair.d, pair.f[1], sizeof (pair));
	printf("%g %d %g %d\n", self->made, sizeof (self->made), made, sizeof (made));
	int_of = 7;
	int_of = 2.9;
	printf("%d\n", int_of);
	exit(0);
}
