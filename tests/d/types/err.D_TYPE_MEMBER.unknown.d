/* A member belongs to its struct. */
struct s { int a; };
struct s x;
BEGIN { exit(x.b); }
