/*
 * A value that is not of the option's kind is an error.
 * @flags: -x bufsize=quick
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
