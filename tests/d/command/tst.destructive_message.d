/*
 * Permitted destructive actions are announced when tracing starts.
 * @flags: -w
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { exit(0); }
