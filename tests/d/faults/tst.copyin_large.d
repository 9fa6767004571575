/*
 * copyin of more bytes than the scratch space can hold is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { this->p = copyin(4096, 1000000000); }
