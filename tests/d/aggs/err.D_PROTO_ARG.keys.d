/* All uses of an aggregation must have keys of the same types. */
BEGIN { @a[1] = count(); @a["x"] = count(); }
