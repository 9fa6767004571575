/* A struct cannot be compared with a number. */
struct s { int a; };
struct s v;
BEGIN { x = v == 1; }
