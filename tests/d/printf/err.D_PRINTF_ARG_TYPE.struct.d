/* %d cannot print a struct. */
struct s { int a; };
struct s v;
BEGIN { printf("%d\n", v); }
