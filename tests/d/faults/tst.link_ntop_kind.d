/*
 * link_ntop knows two kinds of hardware.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", link_ntop(99, alloca(32))); }
