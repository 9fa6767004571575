/* A constant index is not negative. */
int a[4];
BEGIN { exit(a[-1]); }
