/*
 * Reading from address 0 is a fault, and arg5 of ERROR is the address.
 * @stderr
 * @replace: DIF offset \d+ -> DIF offset N
 * @flags: -q
 */
ERROR { printf("fault %d at %x\n", arg4, arg5); exit(0); }
BEGIN { x = *(int *)0; }
