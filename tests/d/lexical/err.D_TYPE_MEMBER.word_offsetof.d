/* The keywords that D adds to C are ordinary names in offsetof. */
struct s { int a; };
BEGIN { exit(offsetof(struct s, translator)); }
