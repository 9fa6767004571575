/* void must be the only parameter in a list. */
int (*f)(void, int);
BEGIN { exit(0); }
