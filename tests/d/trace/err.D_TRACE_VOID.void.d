/* A void expression is not traced. */
BEGIN { trace((void)1); }
