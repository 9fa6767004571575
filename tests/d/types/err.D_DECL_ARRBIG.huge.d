/* An array has a size that can be counted. */
struct s { int a[0x7fffffff][0x7fffffff][0x7fffffff]; };
BEGIN { exit(0); }
