/* %s takes no number. */
BEGIN { printf("%s\n", 1); }
