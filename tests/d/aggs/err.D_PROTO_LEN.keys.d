/* All uses of an aggregation must have the same number of keys. */
BEGIN { @a[1] = count(); @a[1, 2] = count(); }
