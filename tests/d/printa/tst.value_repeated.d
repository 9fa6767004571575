/*
 * If there are more %@ than aggregations, the last aggregation is used again.
 * @flags: -q
 */
BEGIN { @a = sum(26); printa("%@d %@x %@o\n", @a); exit(0); }
