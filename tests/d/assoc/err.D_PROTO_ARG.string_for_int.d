/* All uses of an associative array must have keys of the same types. */
BEGIN { a[1] = 1; trace(a["x"]); }
