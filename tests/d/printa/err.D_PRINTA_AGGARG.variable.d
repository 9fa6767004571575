/* printa needs an aggregation, not a variable. */
BEGIN { x = 1; printa("%@d\n", x); }
