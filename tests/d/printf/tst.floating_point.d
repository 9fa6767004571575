/*
 * %e, %f and %g print the float and double members of a struct.
 * @flags: -q
 */
struct fp { double d; float f; };

BEGIN
{
	this->u = (uint64_t *)alloca(16);
	this->u[0] = 0x4009000000000000;
	this->u[1] = 0xbf000000;
	this->p = (struct fp *)this->u;
	printf("%f %.2f %e %g\n", this->p->d, this->p->d, this->p->d, this->p->d);
	printf("%f %G %E\n", this->p->f, this->p->f, this->p->f);
	exit(0);
}
