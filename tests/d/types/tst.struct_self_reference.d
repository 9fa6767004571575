/*
 * A struct may contain a pointer to its own type.
 * @flags: -q
 */
struct node { int value; struct node *next; };

BEGIN
{
	this->a = (struct node *)alloca(sizeof (struct node));
	this->b = (struct node *)alloca(sizeof (struct node));
	this->a->value = 1;
	this->a->next = this->b;
	this->b->value = 2;
	this->b->next = NULL;
	printf("%d %d %d\n", this->a->value, this->a->next->value,
	    this->a->next->next == NULL);
	exit(0);
}
