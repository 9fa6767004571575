/* A member has no storage class. */
struct s { self int a; };
BEGIN { exit(0); }
