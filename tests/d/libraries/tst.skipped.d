/*
 * A library that depends on a provider that is not there is passed over, others are not.
 * @flags: -q -L skipped -L good
 */
BEGIN { printf("%d %d\n", TWO, SIDES); exit(0); }
