/*
 * With argref an argument may stay unused.
 * @flags: -q -x argref
 * @args: 1 2
 */
BEGIN { printf("on\n"); exit(0); }
