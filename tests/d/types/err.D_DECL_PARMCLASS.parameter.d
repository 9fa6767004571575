/* A parameter may have no storage class except register. */
int (*f)(static int);
BEGIN { exit(0); }
