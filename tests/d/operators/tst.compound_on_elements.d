/*
 * Assignment operators work on elements and members.
 * @flags: -q
 */
struct s { uint16_t h; };
struct s v;
BEGIN
{
	m["k"] = 10;
	m["k"] += 5;
	m["k"] <<= 2;
	self->x = 3;
	self->x *= self->x;
	v.h = 65535;
	v.h += 2;
	this->p = (int *)alloca(8);
	this->p[1] = 6;
	this->p[1] /= 4;
	printf("%d %d %d %d\n", m["k"], self->x, v.h, this->p[1]);
	exit(0);
}
