/* An array takes no number. */
struct s { int a[2]; };
struct s v;
BEGIN { v.a = 1; }
