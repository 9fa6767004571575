/*
 * The buffer policy may be fill.
 * @flags: -q -x bufpolicy=fill -x bufsize=64k
 */
BEGIN { printf("on\n"); exit(0); }
