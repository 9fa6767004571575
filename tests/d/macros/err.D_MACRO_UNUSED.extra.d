/*
 * An argument that is given is used.
 * @args: 1 2
 */
BEGIN { exit($1); }
