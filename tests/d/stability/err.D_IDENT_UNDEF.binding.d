/*
 * A name that a library defines is undefined if it is newer than -x version.
 * @flags: -L library -x version=1.5
 */
BEGIN { trace(newer); exit(0); }
