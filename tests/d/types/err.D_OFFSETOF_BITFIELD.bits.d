/* A bit-field has no offset in bytes. */
struct s { int a : 3; };
BEGIN { exit(offsetof(struct s, a)); }
