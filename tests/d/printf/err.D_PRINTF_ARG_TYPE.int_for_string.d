/* %s cannot print a number. */
BEGIN { printf("%s\n", 1); }
