/*
 * exit sets the exit status of dtrace.
 * @exit: 42
 * @flags: -q
 */
BEGIN { exit(42); }
