/*
 * A probe that matches two clauses counts twice in the message about matched probes.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN, END { }
dtrace:::B* { exit(0); }
