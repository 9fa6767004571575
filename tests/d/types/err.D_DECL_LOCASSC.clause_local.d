/* A clause-local variable cannot be an associative array. */
this int a[int];
BEGIN { exit(0); }
