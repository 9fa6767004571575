/* The arrow follows a pointer to a struct. */
int *p;
BEGIN { y = p->a; }
