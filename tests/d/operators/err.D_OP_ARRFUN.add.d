/* An array cannot be the left side of +=. */
struct s { int a[2]; };
struct s v;
BEGIN { v.a += 1; }
