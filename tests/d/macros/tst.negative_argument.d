/*
 * A negative argument is a negative number.
 * @args: -- -5
 * @flags: -q
 */
BEGIN { printf("%d %s\n", $1 + 1, $$1); exit(0); }
