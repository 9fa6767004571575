/*
 * The base of lltostr must be from 2 to 36.
 * @stderr
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", lltostr(5, 37)); }
