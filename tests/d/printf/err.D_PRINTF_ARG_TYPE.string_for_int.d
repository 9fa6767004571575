/* %d cannot print a string. */
BEGIN { printf("%d\n", "a"); }
