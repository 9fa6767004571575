/* The keys of an associative array's first assignment may not read the array. */
BEGIN { a[a[1]] = 2; }
