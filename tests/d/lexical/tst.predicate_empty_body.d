/*
 * A predicate may be followed by a body without statements.
 * @flags: -q
 */
BEGIN / 1 / { }
BEGIN / 1 / { ; ; }
BEGIN { printf("done"); exit(0) }
