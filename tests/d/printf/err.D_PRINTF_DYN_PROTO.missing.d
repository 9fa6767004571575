/* A dynamic width has its argument. */
BEGIN { printf("%*d\n"); }
