/* trunc needs an aggregation, not a variable. */
BEGIN { x = 1; trunc(x); }
