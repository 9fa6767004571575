/* There are no members of type void. */
struct s { void v; };
BEGIN { exit(0); }
