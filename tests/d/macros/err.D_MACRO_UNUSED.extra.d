/*
 * An argument that is given must be used.
 * @args: 1 2
 */
BEGIN { exit($1); }
