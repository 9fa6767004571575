/*
 * An argument in quotes is a string.
 * @args: '"a b"'
 * @flags: -q
 */
BEGIN { printf("%s\n", $1); exit(0); }
