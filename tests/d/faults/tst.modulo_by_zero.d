/*
 * The remainder of a division by zero is a fault.
 * @flags: -q
 */
int zero;
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { x = 1 % zero; }
