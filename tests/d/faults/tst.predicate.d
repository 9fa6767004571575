/*
 * A fault in a predicate is reported as action 0, and the clause does not run.
 * @stderr
 * @replace: DIF offset \d+ -> DIF offset N
 * @flags: -q
 */
ERROR { printf("action %d\n", arg2); exit(0); }
BEGIN / *(int *)0 == 0 / { printf("not here\n"); }
