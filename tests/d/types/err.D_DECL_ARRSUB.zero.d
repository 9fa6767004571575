/* An array must have at least one element. */
int a[0];
BEGIN { exit(0); }
