/* An array cannot have more keys than there are tuple registers. */
BEGIN { a[1, 2, 3, 4, 5, 6, 7, 8, 9] = 1; }
