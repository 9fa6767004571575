/* The argument of %P must have 16 bits. */
BEGIN { printf("%P\n", 22); }
