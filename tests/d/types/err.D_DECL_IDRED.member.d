/* A member has a name of its own. */
struct s { int a; char a; };
BEGIN { exit(0); }
