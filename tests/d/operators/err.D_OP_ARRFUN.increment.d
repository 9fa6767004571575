/* An array is not incremented. */
int a[2];
BEGIN { a++; }
