/*
 * Memory that alloca returned in one clause is not valid in the next clause.
 * @flags: -q
 */
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { this->p = (char *)alloca(8); this->p[0] = 1; }
BEGIN { this->p[0] = 2; printf("not here\n"); exit(1); }
