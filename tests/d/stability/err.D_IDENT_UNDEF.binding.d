/*
 * A name of a later version does not exist.
 * @flags: -L library -x version=1.5
 */
BEGIN { trace(newer); exit(0); }
