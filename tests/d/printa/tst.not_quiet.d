/*
 * printa stands in the row of its probe when not quiet.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { @a = sum(3); printa("%@d", @a); printa(@a); exit(0); }
