/*
 * A subroutine of a later version does not exist.
 * @flags: -x version=1.10
 */
BEGIN { trace(json("{}", "a")); exit(0); }
