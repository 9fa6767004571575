/*
 * system runs a command. The outputs of all actions are in program order.
 * @flags: -q -w
 */
BEGIN { printf("one\n"); system("echo two %d", 2); printf("three\n"); exit(0); }
