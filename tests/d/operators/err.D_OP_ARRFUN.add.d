/* An array is not added to. */
struct s { int a[2]; };
struct s v;
BEGIN { v.a += 1; }
