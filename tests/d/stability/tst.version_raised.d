/*
 * -x version is lowered once and for all.
 * @flags: -x version=1.2 -x version=1.5
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
