/*
 * -b takes the size of the principal buffer.
 * @flags: -q -b 64k
 */
BEGIN { printf("on\n"); exit(0); }
