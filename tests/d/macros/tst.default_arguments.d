/*
 * With defaultargs, a missing argument is 0 or the empty string.
 * @flags: -q -x defaultargs
 */
BEGIN { printf("%d [%s]\n", $1, $$2); exit(0); }
