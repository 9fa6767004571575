/*
 * With -x version, the names that this version or an earlier version introduced are available.
 * @flags: -q -x version=1.2.1
 */
BEGIN { printf("%d %s\n", ustackdepth >= 0, substr("abc", 1)); exit(0); }
