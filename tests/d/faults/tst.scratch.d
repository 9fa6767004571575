/*
 * alloca of more memory than is available is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { this->p = (char *)alloca(1000000000); }
