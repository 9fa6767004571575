/* An associative array cannot be read without a key. */
BEGIN { a[1] = 2; x = a; }
