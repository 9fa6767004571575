/* All uses of an associative array must have the same number of keys. */
BEGIN { a[1, 2] = 1; trace(a[1]); }
