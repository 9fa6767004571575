/*
 * In BEGIN, errno is not negative.
 * @flags: -q
 */
BEGIN { printf("%d\n", errno >= 0); exit(0); }
