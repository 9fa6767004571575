/*
 * -x version refuses a version of D that does not exist.
 * @flags: -x version=1.14
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
