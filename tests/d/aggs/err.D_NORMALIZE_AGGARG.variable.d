/* normalize needs an aggregation, not a variable. */
BEGIN { x = 1; normalize(x, 2); }
