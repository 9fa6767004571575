/* A struct cannot be cast to an integer. */
struct s { int a; };
struct s x;
BEGIN { exit((int)x); }
