/*
 * -b takes a size.
 * @flags: -q -b 64k
 */
BEGIN { printf("on\n"); exit(0); }
