/*
 * With -w, dtrace reports that destructive actions are allowed.
 * @flags: -w
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { exit(0); }
