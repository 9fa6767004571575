/* The aggregation that is passed to printa must exist. */
BEGIN { printa("%@d\n", @never); }
