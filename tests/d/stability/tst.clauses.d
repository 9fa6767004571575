/*
 * The report of -v shows the weakest stability of all clauses.
 * @flags: -e -v
 * @stderr
 */
BEGIN { trace(htons(1)); }
tick-1s { trace(pid); }
