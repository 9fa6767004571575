/*
 * -x version refuses a version that has more than three numbers.
 * @flags: -x version=1.2.3.4
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
