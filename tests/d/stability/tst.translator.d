/*
 * A translator without attributes is as stable as the least stable name in it.
 * @flags: -e -v
 * @stderr
 */
struct raw { int a; };
struct nice { int port; };
translator struct nice < struct raw *r > { port = htons(r->a); };
BEGIN { trace(xlate <struct nice> ((struct raw *)alloca(4)).port); }
