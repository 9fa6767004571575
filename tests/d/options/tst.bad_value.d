/*
 * A value that the option does not accept is an error.
 * @flags: -x bufsize=quick
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
