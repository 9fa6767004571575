/* A key cannot be declared as a struct. */
struct s { int a; };
int a[struct s];
BEGIN { exit(0); }
