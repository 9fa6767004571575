/*
 * exit gives the status of the command.
 * @exit: 42
 * @flags: -q
 */
BEGIN { exit(42); }
