/* The keys of an aggregation are in one pair of brackets. */
BEGIN { @a[1][2] = count(); }
