/* In the first assignment to an associative array, the value cannot contain an element of the array. */
BEGIN { a[1] = a[1] + 1; }
