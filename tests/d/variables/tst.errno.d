/*
 * errno in BEGIN is that of no call.
 * @flags: -q
 */
BEGIN { printf("%d\n", errno >= 0); exit(0); }
