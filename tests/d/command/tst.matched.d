/*
 * The message about a script counts a probe once for each clause that matches the probe.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN, END { }
dtrace:::B* { exit(0); }
