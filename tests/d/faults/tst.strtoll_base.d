/*
 * A base of strtoll is from 2 to 36.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { x = strtoll("1", 1); }
