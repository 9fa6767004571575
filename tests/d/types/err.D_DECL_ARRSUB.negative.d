/* The number of elements of an array must be positive. */
struct s { int a[-1]; };
BEGIN { exit(0); }
