/* An array cannot be incremented. */
int a[2];
BEGIN { a++; }
