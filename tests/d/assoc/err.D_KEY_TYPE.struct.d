/* A struct cannot be a key. */
struct s { int a; };
struct s v;
BEGIN { a[v] = 1; }
