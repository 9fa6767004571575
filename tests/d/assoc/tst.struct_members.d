/*
 * Members of a struct in an array are read; an element that is not there has no members.
 * @flags: -q
 */
struct pair { int a; int b; };
struct pair p;
struct pair t[string];
ERROR { printf("fault %d\n", arg4); exit(0); }
BEGIN { p.b = 4; t["x"] = p; printf("%d\n", t["x"].b); }
BEGIN { printf("%d\n", t["none"].b); }
