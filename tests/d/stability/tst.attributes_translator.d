/*
 * Attributes for translators apply to later translators, and replace the attributes of the names in them.
 * @flags: -e -v
 * @stderr
 */
struct raw { int a; };
struct nice { int port; };
#pragma D attributes Unstable/Stable/Common translator
translator struct nice < struct raw *r > { port = htons(r->a); };
BEGIN { trace(xlate <struct nice> ((struct raw *)alloca(4)).port); }
