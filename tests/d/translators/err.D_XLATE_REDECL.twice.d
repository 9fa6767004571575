/* A translator from one type to another cannot be defined twice. */
struct raw { int a; };
struct nice { int s; };
translator struct nice < struct raw *r > { s = r->a; };
translator struct nice < struct raw *q > { s = q->a; };
BEGIN { exit(0); }
