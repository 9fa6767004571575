/* A format of printa is followed by an aggregation. */
BEGIN { printa("%@d\n"); }
