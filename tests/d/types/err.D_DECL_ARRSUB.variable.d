/* The size of an array is a constant. */
int n;
struct s { int a[n]; };
BEGIN { exit(0); }
