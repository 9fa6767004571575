/* A constant index must not be negative. */
int a[4];
BEGIN { exit(a[-1]); }
