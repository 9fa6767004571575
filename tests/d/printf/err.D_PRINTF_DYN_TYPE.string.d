/* A dynamic width is a number. */
BEGIN { printf("%*d\n", "a", 1); }
