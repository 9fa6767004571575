/*
 * A destructive action is refused without -w.
 * @exit: 1
 * @stderr
 */
BEGIN { system("true"); exit(0); }
