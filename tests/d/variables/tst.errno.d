/*
 * In BEGIN, errno is not the error of any system call, and is not negative.
 * @flags: -q
 */
BEGIN { printf("%d\n", errno >= 0); exit(0); }
