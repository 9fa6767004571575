/* The first argument of tracemem must be an address. */
struct s { int a; };
struct s v;
BEGIN { tracemem(v, 4); }
