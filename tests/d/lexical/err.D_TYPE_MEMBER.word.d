/* The words that D adds to C are plain names after a dot. */
struct s { int a; };
struct s x;
BEGIN { exit(x.self + x.provider); }
