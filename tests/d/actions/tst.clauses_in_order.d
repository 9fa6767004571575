/*
 * The clauses of one probe run in program order.
 * @flags: -q
 */
BEGIN { printf("1"); }
BEGIN, END { printf("2"); }
BEGIN { printf("3"); exit(0); }
END { printf("4\n"); }
