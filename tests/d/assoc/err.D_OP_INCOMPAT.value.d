/* All values of an associative array must have compatible types. */
BEGIN { a[1] = 2; a[2] = "x"; }
