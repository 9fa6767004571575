/*
 * execname in BEGIN is the name of dtrace itself.
 * @flags: -q
 */
BEGIN { printf("%s\n", execname); exit(0); }
