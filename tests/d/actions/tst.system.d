/*
 * system runs a command, and its output stands where the record stood.
 * @flags: -q -w
 */
BEGIN { printf("one\n"); system("echo two %d", 2); printf("three\n"); exit(0); }
