/* The keys in the first assignment to an associative array cannot read the array. */
BEGIN { a[a[1]] = 2; }
