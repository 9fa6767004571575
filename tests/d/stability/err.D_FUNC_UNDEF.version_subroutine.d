/*
 * Nor is a subroutine.
 * @flags: -x version=1.10
 */
BEGIN { trace(json("{}", "a")); exit(0); }
