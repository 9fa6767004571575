/* The size of an array must fit into an integer. */
struct s { int a[0x7fffffff][0x7fffffff][0x7fffffff]; };
BEGIN { exit(0); }
