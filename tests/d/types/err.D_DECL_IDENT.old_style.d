/* The parameters of a function must be declared with types, not only with names. */
int (*f)(a, b);
BEGIN { exit(0); }
