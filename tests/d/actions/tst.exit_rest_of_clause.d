/*
 * After exit, the rest of its clause runs, later clauses do not run, and END runs.
 * @flags: -q
 */
BEGIN { printf("before "); exit(0); printf("behind\n"); }
BEGIN { printf("never\n"); }
END { printf("end\n"); }
