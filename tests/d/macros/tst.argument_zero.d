/*
 * $0 is the name of the script.
 * @flags: -q
 */
BEGIN { printf("%s\n", $$0); exit(0); }
