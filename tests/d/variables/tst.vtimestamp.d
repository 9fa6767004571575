/*
 * vtimestamp does not go backwards.
 * @flags: -q
 */
BEGIN { v = vtimestamp; }
BEGIN { printf("%d\n", vtimestamp >= v); exit(0); }
