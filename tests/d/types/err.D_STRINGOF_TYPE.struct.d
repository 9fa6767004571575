/* stringof takes no struct. */
struct s { int a; };
struct s x;
BEGIN { trace(stringof(x)); }
