/*
 * Without -q, trace prints a header line and then a line for the record.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { trace("Hello World!"); exit(0); }
