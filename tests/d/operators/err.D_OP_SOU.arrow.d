/* The operand of -> must be a pointer to a struct or union. */
int *p;
BEGIN { y = p->a; }
