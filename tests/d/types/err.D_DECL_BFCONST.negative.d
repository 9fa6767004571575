/* The width of a bit-field must not be negative. */
struct s { int a : -1; };
BEGIN { exit(0); }
