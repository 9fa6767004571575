/*
 * inet_ntop of an unknown address family is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { printf("%s\n", inet_ntop(99, alloca(16))); }
