/* Aggregations that are printed together must have keys of the same types. */
BEGIN { @a[1] = count(); @b["x"] = count(); printa(@a, @b); }
