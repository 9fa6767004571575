/* The number of keys of an associative array must be fixed. */
int a[int, ...];
BEGIN { exit(0); }
