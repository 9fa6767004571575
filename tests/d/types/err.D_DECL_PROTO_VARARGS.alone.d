/* An associative array cannot be declared with only an ellipsis as its keys. */
int a[...];
BEGIN { exit(0); }
