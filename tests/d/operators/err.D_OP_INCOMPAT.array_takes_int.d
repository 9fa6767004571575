/* A number cannot be assigned to an array. */
struct s { int a[2]; };
struct s v;
BEGIN { v.a = 1; }
