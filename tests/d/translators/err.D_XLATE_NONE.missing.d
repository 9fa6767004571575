/* xlate needs a translator. */
struct raw { int a; };
struct nice { int s; };
struct raw *p;
BEGIN { x = xlate <struct nice> (p).s; }
