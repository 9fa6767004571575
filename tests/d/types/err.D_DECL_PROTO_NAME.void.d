/* The parameter void cannot have a name. */
int (*f)(void x);
BEGIN { exit(0); }
