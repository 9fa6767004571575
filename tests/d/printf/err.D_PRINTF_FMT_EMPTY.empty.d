/* A format must not be empty. */
BEGIN { printf(""); }
