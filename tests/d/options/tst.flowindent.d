/*
 * The option flowindent has the same effect as -F.
 * @flags: -x flowindent
 * @replace: ^ +\d+ -> CPU
 */
BEGIN { trace(1); exit(0); }
