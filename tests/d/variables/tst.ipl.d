/*
 * Linux has no interrupt priority level, so ipl is 0.
 * @flags: -q
 */
BEGIN { printf("%d\n", ipl); exit(0); }
