/* %d takes no struct. */
struct s { int a; };
struct s v;
BEGIN { printf("%d\n", v); }
