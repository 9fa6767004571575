/* A dynamic width must be a number. */
BEGIN { printf("%*d\n", "a", 1); }
