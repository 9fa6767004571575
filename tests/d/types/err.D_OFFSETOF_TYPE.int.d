/* The type that is passed to offsetof must be a struct or a union. */
BEGIN { exit(offsetof(int, a)); }
