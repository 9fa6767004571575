/* xlate can read only members that the translator defines. */
struct raw { int a; };
struct nice { int s; int t; };
struct raw *p;
translator struct nice < struct raw *r > { s = r->a; };
BEGIN { x = xlate <struct nice> (p).t; }
