/* A void expression cannot be traced. */
BEGIN { trace((void)1); }
