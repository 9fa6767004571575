/*
 * A tick with a shorter interval fires more often.
 * @flags: -q
 */
int a, b;
tick-10ms { a++; }
tick-40ms { b++; }
tick-200ms { printf("%d\n", a >= 2 * b && b > 0); exit(0); }
