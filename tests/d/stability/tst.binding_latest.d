/*
 * Without -x version, all names in a library are available.
 * @flags: -q -L library
 */
BEGIN { printf("%d %d\n", newer, older); exit(0); }
