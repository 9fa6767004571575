/*
 * strtok without a string is a fault if no search was begun before.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", strtok(NULL, "/")); }
