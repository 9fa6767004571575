/*
 * Printing a thread-local string that was never set is a fault.
 * @flags: -q
 */
self string s;
ERROR { printf("fault %d at %x\n", arg4, arg5); exit(0); }
BEGIN { printf("%s\n", self->s); }
