/*
 * link_ntop of an unknown hardware type is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", link_ntop(99, alloca(32))); }
