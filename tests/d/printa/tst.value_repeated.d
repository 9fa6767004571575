/*
 * When there are more %@ than aggregations the last one is taken again.
 * @flags: -q
 */
BEGIN { @a = sum(26); printa("%@d %@x %@o\n", @a); exit(0); }
