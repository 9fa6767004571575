/* The keywords that D adds to C are ordinary names after a dot. */
struct s { int a; };
struct s x;
BEGIN { exit(x.self + x.provider); }
