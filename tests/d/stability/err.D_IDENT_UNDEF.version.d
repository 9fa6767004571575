/*
 * A variable of a later version than -x version does not exist.
 * @flags: -x version=1.1
 */
BEGIN { trace(ucaller); exit(0); }
