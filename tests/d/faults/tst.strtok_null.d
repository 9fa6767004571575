/*
 * strtok continues what was begun; otherwise it is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", strtok(NULL, "/")); }
