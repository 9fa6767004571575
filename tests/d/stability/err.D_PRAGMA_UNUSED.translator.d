/* Attributes of translators apply only to the translators below them. */
struct raw { int a; };
struct nice { int b; };
translator struct nice < struct raw *r > { b = r->a; };
#pragma D attributes Private/Private/Unknown translator
BEGIN { exit(0); }
