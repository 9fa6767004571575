/*
 * An index beyond the end of a declared array is a fault.
 * @flags: -q
 */
int a[4];
int i;
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { i = 4; a[i] = 1; printf("not here\n"); exit(1); }
