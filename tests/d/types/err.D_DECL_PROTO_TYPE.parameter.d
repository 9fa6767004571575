/* A parameter is not an associative array. */
int (*f)(int a[string]);
BEGIN { exit(0); }
