/* A struct is not cast to an integer. */
struct s { int a; };
struct s x;
BEGIN { exit((int)x); }
