/*
 * A strtoll base below 2 or above 36 is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { x = strtoll("1", 1); }
