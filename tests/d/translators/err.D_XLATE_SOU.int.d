/* The result type of a translator must be a struct or a union. */
struct raw { int a; };
translator int < struct raw *r > { sum = r->a; };
BEGIN { exit(0); }
