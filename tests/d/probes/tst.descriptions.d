/*
 * A probe description may omit fields from the left.
 * @flags: -q
 */
BEGIN { printf("1"); }
:BEGIN { printf("2"); }
::BEGIN { printf("3"); }
:::BEGIN { printf("4"); }
dtrace:::BEGIN { printf("5\n"); exit(0); }
