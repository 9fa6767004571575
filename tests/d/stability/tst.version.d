/*
 * With -x version, a name exists from the version that introduced it.
 * @flags: -q -x version=1.2.1
 */
BEGIN { printf("%d %s\n", ustackdepth >= 0, substr("abc", 1)); exit(0); }
