/*
 * An inline with parameters is used like an array.
 * @flags: -q
 */
inline int twice[int n] = n * 2;
inline string pick[int n, string a, string b] = n ? a : b;
BEGIN { printf("%d %s %s\n", twice[21], pick[1, "x", "y"], pick[0, "x", "y"]); exit(0); }
