/*
 * A library that depends on a provider that does not exist is skipped; other libraries are loaded.
 * @flags: -q -L skipped -L good
 */
BEGIN { printf("%d %d\n", TWO, SIDES); exit(0); }
