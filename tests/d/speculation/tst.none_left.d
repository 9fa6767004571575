/*
 * If no speculation buffer is free, speculation() returns 0, and the failure is reported.
 * @stderr
 * @flags: -q
 */
BEGIN { a = speculation(); b = speculation(); printf("%d %d\n", a, b); exit(0); }
