/*
 * A fault in the argument of an aggregation adds nothing.
 * @flags: -q
 */
ERROR { exit(0); }
BEGIN { @a = sum(5); @a = sum(*(int *)0); }
