/* offsetof takes a struct or a union. */
BEGIN { exit(offsetof(int, a)); }
