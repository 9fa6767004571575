/*
 * An inline is evaluated anew at each use.
 * @flags: -q
 */
int x;
inline int next = x + 1;
BEGIN { x = 1; printf("%d ", next); x = 10; printf("%d\n", next); exit(0); }
