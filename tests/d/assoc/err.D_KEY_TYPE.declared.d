/* A struct is not declared as a key. */
struct s { int a; };
int a[struct s];
BEGIN { exit(0); }
