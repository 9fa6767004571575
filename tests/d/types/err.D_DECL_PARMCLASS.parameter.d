/* The only storage class that a parameter can have is register. */
int (*f)(static int);
BEGIN { exit(0); }
