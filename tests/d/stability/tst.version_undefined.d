/*
 * -x version=1.14 is undefined.
 * @flags: -x version=1.14
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
