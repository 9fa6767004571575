/*
 * A store past the memory that alloca returned is a fault.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { this->p = (char *)alloca(8); this->p[100000000] = 1; }
