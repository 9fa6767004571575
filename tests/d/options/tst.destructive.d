/*
 * The option destructive is -w.
 * @flags: -q -x destructive
 */
BEGIN { system("echo ran"); exit(0); }
