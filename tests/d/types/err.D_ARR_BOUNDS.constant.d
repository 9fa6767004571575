/* A constant index must be within the declared array. */
int a[4];
BEGIN { exit(a[4]); }
