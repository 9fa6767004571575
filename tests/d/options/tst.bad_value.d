/*
 * A value of the wrong kind is an error.
 * @flags: -x bufsize=quick
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
