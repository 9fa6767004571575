/* A struct cannot be an operand of &&. */
struct s { int a; };
struct s v;
BEGIN { x = v && 1; }
