/* A member cannot have the type void. */
struct s { void v; };
BEGIN { exit(0); }
