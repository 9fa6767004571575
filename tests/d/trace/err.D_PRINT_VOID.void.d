/* A void expression cannot be printed. */
BEGIN { print((void)1); }
