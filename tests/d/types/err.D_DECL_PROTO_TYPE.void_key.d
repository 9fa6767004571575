/* A key of an associative array cannot be void. */
int a[int, void];
BEGIN { exit(0); }
