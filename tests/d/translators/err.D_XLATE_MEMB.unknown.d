/* A translator defines members of its struct. */
struct raw { int a; };
struct nice { int s; };
translator struct nice < struct raw *r > { nosuch = r->a; };
BEGIN { exit(0); }
