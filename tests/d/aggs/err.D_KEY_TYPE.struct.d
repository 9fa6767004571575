/* A struct cannot be a key of an aggregation. */
struct s { int a; };
struct s v;
BEGIN { @a[v] = count(); }
