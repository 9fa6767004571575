/* printa takes no variable. */
BEGIN { x = 1; printa("%@d\n", x); }
