/*
 * %Lf, %Le, %Lg and their capitals print a long double.
 * @flags: -q
 */
struct fp { long double d; };

BEGIN
{
	this->u = (uint64_t *)alloca(16);
	this->u[0] = 0xc000000000000000;
	this->u[1] = 0x4000;
	this->p = (struct fp *)this->u;
	printf("%Lf %Le %Lg\n", this->p->d, this->p->d, this->p->d);
	printf("%LE %LG\n", this->p->d, this->p->d);
	exit(0);
}
