/* Only an aggregating function can be assigned to an aggregation. */
BEGIN { @a = 5; }
