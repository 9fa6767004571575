/* An array has elements. */
int a[0];
BEGIN { exit(0); }
