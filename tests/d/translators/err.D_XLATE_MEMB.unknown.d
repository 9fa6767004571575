/* A translator may define only members of its result type. */
struct raw { int a; };
struct nice { int s; };
translator struct nice < struct raw *r > { nosuch = r->a; };
BEGIN { exit(0); }
