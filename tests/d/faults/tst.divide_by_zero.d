/*
 * Division by a variable that is zero is a fault.
 * @stderr
 * @replace: DIF offset \d+ -> DIF offset N
 * @flags: -q
 */
int zero;
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { x = 1 / zero; }
