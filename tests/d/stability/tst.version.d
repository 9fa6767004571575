/*
 * With -x version, a program can use the names of that version and of all earlier versions.
 * @flags: -q -x version=1.2.1
 */
BEGIN { printf("%d %s\n", ustackdepth >= 0, substr("abc", 1)); exit(0); }
