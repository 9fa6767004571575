/* The keys of an associative array are counted. */
int a[int, ...];
BEGIN { exit(0); }
