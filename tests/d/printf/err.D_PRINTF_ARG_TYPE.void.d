/* A void expression cannot be printed. */
BEGIN { printf("%d\n", (void)1); }
