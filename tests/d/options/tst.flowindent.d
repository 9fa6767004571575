/*
 * flowindent is -F.
 * @flags: -x flowindent
 * @replace: ^ +\d+ -> CPU
 */
BEGIN { trace(1); exit(0); }
