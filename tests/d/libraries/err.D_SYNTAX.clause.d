/*
 * A library must not contain clauses.
 * @flags: -L clause
 */
BEGIN { exit(0); }
