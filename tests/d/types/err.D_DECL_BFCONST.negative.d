/* The width of a bit-field is not negative. */
struct s { int a : -1; };
BEGIN { exit(0); }
