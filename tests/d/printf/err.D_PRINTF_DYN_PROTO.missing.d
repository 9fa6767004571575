/* A dynamic width needs an argument. */
BEGIN { printf("%*d\n"); }
