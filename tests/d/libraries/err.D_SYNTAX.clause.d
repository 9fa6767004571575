/*
 * A library contains definitions, but no clauses.
 * @flags: -L clause
 */
BEGIN { exit(0); }
