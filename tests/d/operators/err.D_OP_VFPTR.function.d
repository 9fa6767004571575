/* Pointer arithmetic on a pointer to a function is refused. */
int (*f)(int);
BEGIN { x = f + 1; }
