/* The width of a bit-field must be a constant. */
int n;
struct s { int a : n; };
BEGIN { exit(0); }
