/* All values of an associative array must have the same type. */
BEGIN { a[1] = 2; a[2] = "x"; }
