/* An associative array may not be read above its first assignment. */
BEGIN { trace(a[1]); a[1] = 2; }
