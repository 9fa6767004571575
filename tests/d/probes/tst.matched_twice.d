/*
 * A clause runs only once per firing, even if several of its descriptions match the probe.
 * @flags: -q
 * @stderr
 */
int n;
BEGIN, dtrace:::B*, BEGIN { n++; }
BEGIN { printf("%d", n); exit(0); }
