/* printa takes an aggregation that exists. */
BEGIN { printa("%@d\n", @never); }
