/*
 * Clauses of the same probe and of different probes share an aggregation.
 * @flags: -q
 */
BEGIN { @["x"] = sum(1); }
BEGIN { @["x"] = sum(10); @["y"] = sum(5); exit(0); }
END { @["y"] = sum(100); printa("%s %@d\n", @); }
