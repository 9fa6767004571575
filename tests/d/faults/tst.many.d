/*
 * Each fault fires ERROR once, and the following clauses run.
 * @flags: -q
 */
ERROR { n++; }
BEGIN { x = *(int *)0; }
BEGIN { x = 1 / (int)(arg1); }
BEGIN { x = *(int *)1; }
BEGIN { printf("%d\n", n); exit(0); }
