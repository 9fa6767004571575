/*
 * The rest of the clause after exit runs, later clauses do not, and END does.
 * @flags: -q
 */
BEGIN { printf("before "); exit(0); printf("behind\n"); }
BEGIN { printf("never\n"); }
END { printf("end\n"); }
