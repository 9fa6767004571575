/*
 * The message about a script counts pairs of a clause and a matching probe.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN, END { }
dtrace:::B* { exit(0); }
