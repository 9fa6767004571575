/* Functions are declared with types, not with names. */
int (*f)(a, b);
BEGIN { exit(0); }
