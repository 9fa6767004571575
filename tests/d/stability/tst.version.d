/*
 * -x version takes all versions up to that which a name came with.
 * @flags: -q -x version=1.2.1
 */
BEGIN { printf("%d %s\n", ustackdepth >= 0, substr("abc", 1)); exit(0); }
