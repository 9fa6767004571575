/* The values of an associative array have one type. */
BEGIN { a[1] = 2; a[2] = "x"; }
