/* The argument of %k must be a stack. */
BEGIN { printf("%k\n", 5); }
