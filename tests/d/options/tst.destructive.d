/*
 * The option destructive has the same effect as -w.
 * @flags: -q -x destructive
 */
BEGIN { system("echo ran"); exit(0); }
