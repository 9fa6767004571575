/*
 * Reading a string at NULL is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d at %x\n", arg4, arg5); exit(0); }
BEGIN { s = stringof((char *)NULL); printf("%s\n", s); }
