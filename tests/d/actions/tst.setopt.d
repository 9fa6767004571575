/*
 * setopt changes a dynamic option when its record is processed.
 * @replace: ^ +\d+ ( +\d+ +\S+) -> CPU \1
 */
BEGIN { trace(1); }
BEGIN { setopt("quiet"); }
BEGIN { printf("quiet\n"); exit(0); }
