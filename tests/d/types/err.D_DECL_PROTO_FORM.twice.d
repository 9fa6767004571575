/* The parameters of a function have different names. */
int (*f)(int a, int a);
BEGIN { exit(0); }
