/* The keys of an associative array cannot be declared by an ellipsis alone. */
int a[...];
BEGIN { exit(0); }
