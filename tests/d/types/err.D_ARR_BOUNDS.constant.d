/* A constant index is within the declared array. */
int a[4];
BEGIN { exit(a[4]); }
