/* A parameter has no storage class but register. */
int (*f)(static int);
BEGIN { exit(0); }
