/* A member must have a name. */
struct s { int; };
BEGIN { exit(0); }
