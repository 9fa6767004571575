/*
 * A tick fires repeatedly.
 * @flags: -q
 */
int n;
tick-5ms { n++; printf("%d ", n); }
tick-5ms / n == 5 / { exit(0); }
