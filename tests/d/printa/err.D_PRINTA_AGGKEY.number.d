/* Aggregations that are printed together must have the same number of keys. */
BEGIN { @a[1] = count(); @b[1, 2] = count(); printa(@a, @b); }
