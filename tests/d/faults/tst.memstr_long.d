/*
 * memstr of more than 4096 bytes is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { this->p = alloca(8); printf("%s\n", memstr(this->p, ' ', 5000)); }
