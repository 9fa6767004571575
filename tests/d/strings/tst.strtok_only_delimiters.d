/*
 * strtok returns NULL for a string that contains only delimiters.
 * @flags: -q
 */
BEGIN { printf("%d %d\n", strtok("///", "/") == NULL, strtok("", "/") == NULL); exit(0); }
