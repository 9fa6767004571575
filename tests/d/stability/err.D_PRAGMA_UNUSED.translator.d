/* #pragma D attributes for translators must precede a translator. */
struct raw { int a; };
struct nice { int b; };
translator struct nice < struct raw *r > { b = r->a; };
#pragma D attributes Private/Private/Unknown translator
BEGIN { exit(0); }
