/*
 * Members of structs in an array are read and stored to; an element that is not there is
 * made of zeros when one of its members is stored to, and reads as zeros.
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
