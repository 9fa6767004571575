/*
 * execname in BEGIN is the command's own.
 * @flags: -q
 */
BEGIN { printf("%s\n", execname); exit(0); }
