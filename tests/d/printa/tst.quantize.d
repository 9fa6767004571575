/*
 * %@ of a distribution draws it.
 * @flags: -q
 */
BEGIN { @a["k"] = quantize(4); printa("key %s%@d", @a); exit(0); }
