/*
 * setopt changes a dynamic option at its place in the stream.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { trace(1); }
BEGIN { setopt("quiet"); }
BEGIN { printf("quiet\n"); exit(0); }
