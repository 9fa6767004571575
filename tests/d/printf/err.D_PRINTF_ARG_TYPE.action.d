/* The result of an action cannot be printed. */
BEGIN { printf("%s", printf("x")); }
