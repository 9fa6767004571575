/*
 * strtok(NULL) is a fault if no earlier call passed a string.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", strtok(NULL, "/")); }
