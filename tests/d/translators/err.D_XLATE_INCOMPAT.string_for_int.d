/* A member's expression has the member's type. */
struct raw { int a; };
struct nice { int s; };
translator struct nice < struct raw *r > { s = "text"; };
BEGIN { exit(0); }
