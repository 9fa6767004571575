/*
 * D` before a type's name means the type that the D program declares.
 * @flags: -q
 */
struct pair { int a; int b; };
typedef struct pair pair_t;
enum color { RED, GREEN };
BEGIN
{
	this->p = (struct D`pair *)alloca(sizeof (struct D`pair));
	this->p->b = 3;
	this->q = (D`pair_t *)this->p;
	printf("%d %d %d\n", this->q->b, sizeof (D`pair_t), sizeof (enum D`color));
	exit(0);
}
