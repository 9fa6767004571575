/*
 * After exit, the rest of the same clause and END run, but later clauses do not run.
 * @flags: -q
 */
BEGIN { printf("before "); exit(0); printf("behind\n"); }
BEGIN { printf("never\n"); }
END { printf("end\n"); }
