/* In the first assignment to an associative array, a key cannot be an element of the array. */
BEGIN { a[a[1]] = 2; }
