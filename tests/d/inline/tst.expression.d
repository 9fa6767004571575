/*
 * An inline is evaluated again at each use.
 * @flags: -q
 */
int x;
inline int next = x + 1;
BEGIN { x = 1; printf("%d ", next); x = 10; printf("%d\n", next); exit(0); }
