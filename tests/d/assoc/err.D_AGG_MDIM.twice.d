/* The keys of an aggregation stand in one pair of brackets. */
BEGIN { @a[1][2] = count(); }
