/*
 * An inline may use another inline, and variables of any scope.
 * @flags: -q
 */
this int n;
inline int base = 10;
inline int scaled[int x] = x * base;
inline int mine = scaled[this->n] + 1;
BEGIN { this->n = 4; printf("%d %d\n", mine, scaled[scaled[1]]); exit(0); }
