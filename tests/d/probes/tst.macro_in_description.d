/*
 * A probe description may contain macro variables.
 * @args: BEGIN
 * @flags: -q
 */
dtrace:::$1 { printf("%s\n", probename); exit(0); }
