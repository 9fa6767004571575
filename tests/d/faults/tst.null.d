/*
 * Reading at address 0 is a fault with the address in arg5.
 * @stderr
 * @replace: DIF offset \d+ -> DIF offset N
 * @flags: -q
 */
ERROR { printf("fault %d at %x\n", arg4, arg5); exit(0); }
BEGIN { x = *(int *)0; }
