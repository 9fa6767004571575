/*
 * A variable that came later than -x version is not there.
 * @flags: -x version=1.1
 */
BEGIN { trace(ucaller); exit(0); }
