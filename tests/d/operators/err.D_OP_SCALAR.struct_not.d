/* A struct cannot be the operand of !. */
struct s { int a; };
struct s v;
BEGIN { x = !v; }
