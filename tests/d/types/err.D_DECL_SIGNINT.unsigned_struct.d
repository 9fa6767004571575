/* A struct cannot be unsigned. */
struct s { int a; };
unsigned struct s x;
BEGIN { exit(0); }
