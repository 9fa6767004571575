/* A void expression cannot be an argument. */
BEGIN { exit((void)0); }
