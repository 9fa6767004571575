/* A translator gives a struct. */
struct raw { int a; };
translator int < struct raw *r > { sum = r->a; };
BEGIN { exit(0); }
