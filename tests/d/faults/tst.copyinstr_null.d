/*
 * copyinstr from address 0 is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d at %x\n", arg4, arg5); exit(0); }
BEGIN { printf("%s\n", copyinstr(0)); }
