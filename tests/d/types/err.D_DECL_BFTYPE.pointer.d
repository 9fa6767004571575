/* A bit-field must be an integer. */
struct s { char *a : 3; };
BEGIN { exit(0); }
