/*
 * %ws and %wc print wide characters.
 * @flags: -q
 */
struct w { wchar_t c; wchar_t s[4]; };

BEGIN
{
	this->u = (uint32_t *)alloca(20);
	this->u[0] = 'W';
	this->u[1] = 'a';
	this->u[2] = 'b';
	this->p = (struct w *)this->u;
	printf("%wc %ws\n", this->p->c, this->p->s);
	exit(0);
}
