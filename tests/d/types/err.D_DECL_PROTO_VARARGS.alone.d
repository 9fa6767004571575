/* An ellipsis alone does not stand for the keys of an associative array either. */
int a[...];
BEGIN { exit(0); }
