/*
 * A fault in an ERROR clause is counted and fires no probe.
 * @stderr
 * @replace: DIF offset \d+ -> DIF offset N
 * @flags: -q
 */
ERROR { x = *(int *)4; }
BEGIN { y = *(int *)0; }
BEGIN { exit(0); }
