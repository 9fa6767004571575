/* All uses of an associative array have the same number of keys. */
BEGIN { a[1, 2] = 1; trace(a[1]); }
