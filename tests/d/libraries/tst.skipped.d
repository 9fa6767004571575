/*
 * A library that depends on a provider that does not exist is skipped, others are not.
 * @flags: -q -L skipped -L good
 */
BEGIN { printf("%d %d\n", TWO, SIDES); exit(0); }
