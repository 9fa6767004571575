/* A key of an associative array has a value. */
int a[int, void];
BEGIN { exit(0); }
