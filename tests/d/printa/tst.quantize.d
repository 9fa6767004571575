/*
 * %@ draws the chart of a distribution.
 * @flags: -q
 */
BEGIN { @a["k"] = quantize(4); printa("key %s%@d", @a); exit(0); }
