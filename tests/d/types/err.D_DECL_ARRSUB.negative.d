/* An array has a positive number of elements. */
struct s { int a[-1]; };
BEGIN { exit(0); }
