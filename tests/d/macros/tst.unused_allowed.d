/*
 * With argref, an argument may remain unused.
 * @flags: -q -x argref
 * @args: 1 2
 */
BEGIN { printf("on\n"); exit(0); }
