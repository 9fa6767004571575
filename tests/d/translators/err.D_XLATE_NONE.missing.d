/* xlate needs a translator from the type of its argument to the result type. */
struct raw { int a; };
struct nice { int s; };
struct raw *p;
BEGIN { x = xlate <struct nice> (p).s; }
