/* The format of printa must be followed by an aggregation. */
BEGIN { printa("%@d\n"); }
