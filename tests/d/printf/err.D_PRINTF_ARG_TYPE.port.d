/* %P takes a 16-bit port. */
BEGIN { printf("%P\n", 22); }
