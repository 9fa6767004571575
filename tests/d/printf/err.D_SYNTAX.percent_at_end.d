/* A format must not end in a single percent sign. */
BEGIN { printf("100%"); }
