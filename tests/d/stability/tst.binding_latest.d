/*
 * Without -x version all that a library has is there.
 * @flags: -q -L library
 */
BEGIN { printf("%d %d\n", newer, older); exit(0); }
