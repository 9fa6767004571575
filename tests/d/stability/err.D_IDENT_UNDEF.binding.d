/*
 * A library's name that is newer than -x version is undefined.
 * @flags: -L library -x version=1.5
 */
BEGIN { trace(newer); exit(0); }
