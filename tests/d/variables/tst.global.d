/*
 * A global variable keeps its value from one firing to the next.
 * @flags: -q
 */
int n;

BEGIN { n = 1; }
tick-10ms { n++; }
tick-10ms / n == 4 / { printf("%d\n", n); exit(0); }
