/*
 * A declaration may come after a clause that does not use it and before one that does.
 * @flags: -q
 */
BEGIN { printf("1 "); }
string late;
BEGIN { late = "2"; printf("%s\n", late); exit(0); }
