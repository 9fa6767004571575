/*
 * The report is of the weakest of all clauses.
 * @flags: -e -v
 * @stderr
 */
BEGIN { trace(htons(1)); }
tick-1s { trace(pid); }
