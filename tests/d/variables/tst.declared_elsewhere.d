/*
 * A variable may be declared between two clauses if only the second clause uses it.
 * @flags: -q
 */
BEGIN { printf("1 "); }
string late;
BEGIN { late = "2"; printf("%s\n", late); exit(0); }
