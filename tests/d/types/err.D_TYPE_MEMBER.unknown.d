/* A struct has only the members that its definition lists. */
struct s { int a; };
struct s x;
BEGIN { exit(x.b); }
