/* A scalar variable has no elements. */
BEGIN { a = 2; x = a[1]; }
