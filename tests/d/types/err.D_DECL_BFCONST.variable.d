/* The width of a bit-field is a constant. */
int n;
struct s { int a : n; };
BEGIN { exit(0); }
