/*
 * A clause without actions prints the name of its probe.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { }
BEGIN { exit(0); }
