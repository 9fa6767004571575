/*
 * A string of delimiters alone has no part.
 * @flags: -q
 */
BEGIN { printf("%d %d\n", strtok("///", "/") == NULL, strtok("", "/") == NULL); exit(0); }
