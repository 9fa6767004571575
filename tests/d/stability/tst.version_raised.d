/*
 * A version that -x version has lowered cannot be raised again.
 * @flags: -x version=1.2 -x version=1.5
 * @exit: 1
 * @stderr
 */
BEGIN { exit(0); }
