/* Two members of a struct cannot have the same name. */
struct s { int a; char a; };
BEGIN { exit(0); }
