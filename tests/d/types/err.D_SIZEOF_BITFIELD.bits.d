/* A bit-field has no size in bytes. */
struct s { int a : 3; };
struct s x;
BEGIN { exit(sizeof (x.a)); }
