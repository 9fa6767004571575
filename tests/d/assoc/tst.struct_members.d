/*
 * Members of structs in an array can be read and written. A store to a member creates a
 * missing element, filled with zeros.
 * @flags: -q
 */
struct pair { int a; int b; };
struct pair p;
struct pair t[string];
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { p.b = 4; t["x"] = p; printf("%d\n", t["x"].b); }
BEGIN { t["y"].a = 7; t["y"].b++; t["y"].b += 2; }
BEGIN { printf("%d %d\n", t["y"].a, t["y"].b); }
BEGIN { printf("%d\n", t["none"].b); exit(0); }
