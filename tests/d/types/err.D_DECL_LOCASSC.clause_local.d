/* Clause-local variables are not associative. */
this int a[int];
BEGIN { exit(0); }
