/*
 * A base of strtoll that is not between 2 and 36 is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { x = strtoll("1", 1); }
