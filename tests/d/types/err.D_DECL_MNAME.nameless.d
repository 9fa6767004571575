/* A member has a name. */
struct s { int; };
BEGIN { exit(0); }
