/*
 * An inline names an expression.
 * @flags: -q
 */
inline int LIMIT = 3 * 4;
inline string NAME = "text";
int a[LIMIT];
BEGIN { printf("%d %s %d\n", LIMIT + 1, NAME, sizeof (a)); exit(0); }
