/* A parameter cannot be an associative array. */
int (*f)(int a[string]);
BEGIN { exit(0); }
