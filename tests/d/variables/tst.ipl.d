/*
 * There is no interrupt priority level.
 * @flags: -q
 */
BEGIN { printf("%d\n", ipl); exit(0); }
