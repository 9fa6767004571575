/* The keys of an aggregation must be in one pair of brackets. */
BEGIN { @a[1][2] = count(); }
