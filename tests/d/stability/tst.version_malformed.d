/*
 * -x version=1.2.3.4 is malformed.
 * @flags: -x version=1.2.3.4
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
