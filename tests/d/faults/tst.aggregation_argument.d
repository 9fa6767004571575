/*
 * A fault in the argument of an aggregating function adds nothing to the aggregation.
 * @flags: -q
 */
ERROR { exit(0); }
BEGIN { @a = sum(5); @a = sum(*(int *)0); }
