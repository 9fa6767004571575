/* The size of an array must be a constant. */
int n;
struct s { int a[n]; };
BEGIN { exit(0); }
