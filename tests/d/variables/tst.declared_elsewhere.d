/*
 * A declaration may stand behind the clause that does not use it and before the one that does.
 * @flags: -q
 */
BEGIN { printf("1 "); }
string late;
BEGIN { late = "2"; printf("%s\n", late); exit(0); }
