/* A pointer to a function cannot be dereferenced. */
int (*f)(int);
BEGIN { x = *f; }
