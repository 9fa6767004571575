/*
 * copyin of more than the scratch space is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { this->p = copyin(4096, 1000000000); }
