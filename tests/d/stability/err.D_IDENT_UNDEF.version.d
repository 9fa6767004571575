/*
 * A variable that is newer than -x version is undefined.
 * @flags: -x version=1.1
 */
BEGIN { trace(ucaller); exit(0); }
