/* The parameter void has no name. */
int (*f)(void x);
BEGIN { exit(0); }
