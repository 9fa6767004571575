/*
 * The classic two lines.
 * @stderr
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { trace("Hello World!"); exit(0); }
