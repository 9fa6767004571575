/* A bit-field that has a name has bits. */
struct s { int a : 0; };
BEGIN { exit(0); }
