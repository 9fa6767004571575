/* A member cannot have a storage class. */
struct s { self int a; };
BEGIN { exit(0); }
