/* All uses of an associative array must have keys of compatible types. */
BEGIN { a[1] = 1; trace(a["x"]); }
