/* stringof does not accept a struct. */
struct s { int a; };
struct s x;
BEGIN { trace(stringof(x)); }
