/*
 * The buffer policies are switch, fill and ring.
 * @flags: -q -x bufpolicy=fill -x bufsize=64k
 */
BEGIN { printf("on\n"); exit(0); }
