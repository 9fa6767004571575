/*
 * Without the quiet option, the output of printa begins in the row that names the probe.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { @a = sum(3); printa("%@d", @a); printa(@a); exit(0); }
