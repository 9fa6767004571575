/* A pointer to a function is not stepped. */
int (*f)(int);
BEGIN { x = f + 1; }
