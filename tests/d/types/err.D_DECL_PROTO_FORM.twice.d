/* Two parameters of a function cannot have the same name. */
int (*f)(int a, int a);
BEGIN { exit(0); }
