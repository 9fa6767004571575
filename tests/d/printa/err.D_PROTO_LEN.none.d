/* printa takes an aggregation. */
BEGIN { printa(); }
