/* What an action leaves cannot be printed. */
BEGIN { printf("%s", printf("x")); }
