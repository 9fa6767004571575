/*
 * system runs a command, whose output appears in place of the record.
 * @flags: -q -w
 */
BEGIN { printf("one\n"); system("echo two %d", 2); printf("three\n"); exit(0); }
