/* The expression for a translator's member must fit the type of the member. */
struct raw { int a; };
struct nice { int s; };
translator struct nice < struct raw *r > { s = "text"; };
BEGIN { exit(0); }
