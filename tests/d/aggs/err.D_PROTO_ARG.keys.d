/* All uses of an aggregation must have keys of compatible types. */
BEGIN { @a[1] = count(); @a["x"] = count(); }
