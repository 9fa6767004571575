/*
 * A subroutine that is newer than -x version is undefined.
 * @flags: -x version=1.10
 */
BEGIN { trace(json("{}", "a")); exit(0); }
