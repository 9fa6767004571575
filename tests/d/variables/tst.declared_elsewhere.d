/*
 * A variable may be declared between two clauses if the first clause does not use it.
 * @flags: -q
 */
BEGIN { printf("1 "); }
string late;
BEGIN { late = "2"; printf("%s\n", late); exit(0); }
