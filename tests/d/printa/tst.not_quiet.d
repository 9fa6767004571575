/*
 * Without quiet, the output of printa is in the row of its probe.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { @a = sum(3); printa("%@d", @a); printa(@a); exit(0); }
