/* The first assignment to an associative array cannot read the array. */
BEGIN { a[1] = a[1] + 1; }
