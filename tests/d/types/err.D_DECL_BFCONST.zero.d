/* A bit-field with a name must have at least one bit. */
struct s { int a : 0; };
BEGIN { exit(0); }
