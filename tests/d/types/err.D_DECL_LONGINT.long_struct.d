/* A struct cannot be long. */
struct s { int a; };
long struct s x;
BEGIN { exit(0); }
