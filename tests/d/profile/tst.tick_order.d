/*
 * A tick comes again and again.
 * @flags: -q
 */
int n;
tick-5ms { n++; printf("%d ", n); }
tick-5ms / n == 5 / { exit(0); }
