/* A parameter cannot have a storage class except register. */
int (*f)(static int);
BEGIN { exit(0); }
