/*
 * The arrow reads and writes members through a pointer.
 * @flags: -q
 */
struct pair { int a; int b; };

BEGIN
{
	this->p = (struct pair *)alloca(sizeof (struct pair));
	this->p->a = 3;
	(*this->p).b = 4;
	printf("%d %d\n", this->p->a, this->p->b);
	exit(0);
}
