/* The words that D adds to C are plain names in offsetof. */
struct s { int a; };
BEGIN { exit(offsetof(struct s, translator)); }
