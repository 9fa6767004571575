/* A void expression has no conversion. */
BEGIN { printf("%d\n", (void)1); }
