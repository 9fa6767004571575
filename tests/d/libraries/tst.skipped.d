/*
 * A library is skipped if it depends on a provider that does not exist. Other libraries are loaded.
 * @flags: -q -L skipped -L good
 */
BEGIN { printf("%d %d\n", TWO, SIDES); exit(0); }
