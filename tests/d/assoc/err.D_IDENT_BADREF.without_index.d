/* An associative array is not read without a key. */
BEGIN { a[1] = 2; x = a; }
