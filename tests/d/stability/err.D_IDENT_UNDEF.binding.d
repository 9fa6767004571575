/*
 * A name of a later version is not there.
 * @flags: -L library -x version=1.5
 */
BEGIN { trace(newer); exit(0); }
