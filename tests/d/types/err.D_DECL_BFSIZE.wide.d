/* A bit-field is not wider than its type. */
struct s { int a : 33; };
BEGIN { exit(0); }
