/*
 * bcopy copies only to memory that alloca returned.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { bcopy("abc", (void *)64, 3); }
