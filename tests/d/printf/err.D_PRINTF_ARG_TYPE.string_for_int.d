/* %d takes no string. */
BEGIN { printf("%d\n", "a"); }
