/* A pointer to a function is not followed. */
int (*f)(int);
BEGIN { x = *f; }
