/*
 * epid numbers the clauses from 1.
 * @flags: -q
 */
BEGIN { printf("%d\n", epid); }
BEGIN { printf("%d\n", epid); }
BEGIN { printf("%d\n", epid); exit(0); }
