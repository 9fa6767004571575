/*
 * printa of an aggregation that was never updated prints nothing.
 * @flags: -q
 */
BEGIN / 0 / { @a = count(); }
BEGIN { printa("value %@d\n", @a); printf("end\n"); exit(0); }
