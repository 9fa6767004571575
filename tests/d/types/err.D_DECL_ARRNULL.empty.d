/* An array must be declared with its number of elements. */
int a[];
BEGIN { exit(0); }
