/*
 * The buffer policies switch, fill and ring are known.
 * @flags: -q -x bufpolicy=fill -x bufsize=64k
 */
BEGIN { printf("on\n"); exit(0); }
