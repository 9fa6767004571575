/* %k takes a stack. */
BEGIN { printf("%k\n", 5); }
