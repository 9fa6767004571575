/* The keys of an associative array's first assignment cannot read the array. */
BEGIN { a[a[1]] = 2; }
