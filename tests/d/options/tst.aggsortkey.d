/*
 * aggsortkey sorts by key.
 * @flags: -q -x aggsortkey
 */
BEGIN { @["b"] = sum(1); @["c"] = sum(3); @["a"] = sum(2); printa("%s %@d\n", @); exit(0); }
