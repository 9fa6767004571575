/*
 * The message of a script counts pairs of probes and clauses.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN, END { }
dtrace:::B* { exit(0); }
