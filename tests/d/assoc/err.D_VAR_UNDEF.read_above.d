/* An associative array cannot be read before its first assignment. */
BEGIN { trace(a[1]); a[1] = 2; }
