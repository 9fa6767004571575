/* A void expression is not printed. */
BEGIN { print((void)1); }
