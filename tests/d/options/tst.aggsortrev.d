/*
 * aggsortrev reverses the order of an aggregation's rows.
 * @flags: -q -x aggsortrev
 */
BEGIN { @["b"] = sum(1); @["c"] = sum(3); @["a"] = sum(2); printa("%s %@d\n", @); exit(0); }
